//go:build unix

package app

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolshed/app/profile"
)

// greet attaches, waits for one answer and goes.
func greet(data string) error {
	client, err := Attach(context.Background(), data)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = client.Call(ctx, "status")
	return err
}

func TestTheSocketIsOurs(t *testing.T) {
	data, run := places(t)
	old := syscall.Umask(0)
	p := open(t, data)
	syscall.Umask(old)
	path, err := socketPath(data)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(path) != filepath.Join(run, "toolshed") {
		t.Errorf("the socket is %s", path)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600 | fs.ModeSocket, filepath.Dir(path): 0o700 | fs.ModeDir, data: 0o700 | fs.ModeDir, filepath.Join(data, "profile.db"): 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s has the mode %v, not %v (%v)", name, info.Mode(), want, err)
		}
	}
	if err := greet(data); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close the socket is there (%v)", err)
	}
	if _, err := Attach(context.Background(), data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after Close: %v", err)
	}
}

// A runtime folder that others can enter is not used by either side; the program works without it.
func TestARuntimeFolderThatIsNotPrivateIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"readable by others": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o755)) },
		"writable by others": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"a link": func(dir string) error {
			return errors.Join(os.Mkdir(dir+"-real", 0o700), os.Symlink(dir+"-real", dir))
		},
		"a file":          func(dir string) error { return os.WriteFile(dir, nil, 0o700) },
		"somebody else's": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534)) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "somebody else's" && os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			data, run := places(t)
			if err := spoil(filepath.Join(run, "toolshed")); err != nil {
				t.Fatal(err)
			}
			p := open(t, data)
			if p.socket != nil {
				t.Error("the program listens there")
			}
			if _, err := Attach(context.Background(), data); !errors.Is(err, ErrNotPrivate) {
				t.Errorf("Attach: %v", err)
			}
			if _, err := p.Client(context.Background()).Call(short(t), "list"); err != nil {
				t.Errorf("the program itself: %v", err)
			}
		})
	}
}

func TestWhatAKilledProgramLeftIsReplaced(t *testing.T) {
	data, _ := places(t)
	open(t, data).Close() // makes the folders
	path, err := socketPath(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, leave := range map[string]func() error{
		"a socket": func() error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"a file": func() error { return os.WriteFile(path, []byte("x"), 0o600) },
	} {
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if _, err := Attach(context.Background(), data); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: Attach: %v", name, err)
		}
		p := open(t, data)
		if err := greet(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.Close()
	}
}

func TestOneProgramForAFolder(t *testing.T) {
	data, _ := places(t)
	if _, err := Attach(context.Background(), data); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before there is a program: %v", err)
	}
	open(t, data)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{data, data + "/", link, data + "/../data"} {
		if _, err := Open(context.Background(), settings(name)); !errors.Is(err, profile.ErrInUse) {
			t.Errorf("a second program on %s: %v", name, err)
		}
		// The second start must not have taken the first one's socket away.
		if err := greet(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClientsAreBounded(t *testing.T) {
	data, _ := places(t)
	open(t, data)
	path, _ := socketPath(data)
	dial := func() net.Conn {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	first := dial()
	for range maxAttached - 1 {
		dial()
	}
	extra := dial()
	_ = extra.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := extra.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("client %d: %v", maxAttached+1, err)
	}
	first.Close()
	eventually(t, "a client that went makes room", func() bool {
		return greet(data) == nil
	})
}

func TestNonsenseOnTheSocketEndsItsConnectionOnly(t *testing.T) {
	data, _ := places(t)
	open(t, data)
	path, _ := socketPath(data)
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "\x00\xff\n", "[]\n", `["push"]` + "\n", `["abort","x"]` + "\n", strings.Repeat("[", 10_000) + "\n"} {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		for r := bufio.NewReader(conn); ; {
			if _, err := r.ReadByte(); err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%.20q: the connection stayed open", text)
				}
				break
			}
		}
		conn.Close()
	}
	if err := greet(data); err != nil {
		t.Error(err)
	}
}

// Even where the modes would let somebody else in, the system's word on who is at the other end counts.
func TestAStrangerIsRefused(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("only root can be somebody else, and only Linux is asked who it is")
	}
	dir, err := os.MkdirTemp("", "shed")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(dir, "stranger")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(stranger, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "open.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for uid, refused := range map[uint32]bool{0: false, 65534: true} {
		cmd := exec.Command(stranger, "dial", path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = listener.(*net.UnixListener).SetDeadline(time.Now().Add(20 * time.Second))
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := sameUser(conn); (err != nil) != refused {
			t.Errorf("user %d: %v", uid, err)
		}
		conn.Close()
		_ = cmd.Wait()
	}
}
