package walls

// archCalls are calls that only this architecture has.
var archCalls = []string{"arch_prctl", "epoll_wait", "gettimeofday", "time"}
