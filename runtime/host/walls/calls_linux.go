package walls

// allowedCalls are the system calls that a child may make without conditions. None of them opens, makes or reaches
// anything that the process does not already hold.
var allowedCalls = append([]string{
	"read", "write", "close", // on what is open
	"mmap", "munmap", "mprotect", "madvise", "mremap", // memory, and start images
	"futex", "nanosleep", "clock_nanosleep", "clock_gettime", "sched_yield", "sched_getaffinity", "restart_syscall",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid",
	"epoll_ctl", "epoll_pwait", // the poller that the socket is registered with
	"set_robust_list", "rseq", // what the C library does in a new thread
	"exit", "exit_group", "getrandom",
}, archCalls...)
