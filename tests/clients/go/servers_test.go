// Package tests drives weir/client against real servers: with users, TLS, a Unix socket; stopped,
// gone, and back again. WEIR_SERVER is the path of weir-server.
package tests

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	weir "weir/client"
)

const (
	patience = 30 * time.Second // a deadline that is long enough for a busy machine
	never    = "1000d"          // the period of a limit that does not refill during a test

	// The most time that a call with the default deadline of 50 ms may take on a busy machine.
	bound = 2 * time.Second
)

var (
	background = context.Background()
	listening  = regexp.MustCompile(`listening on 127\.0\.0\.1:(\d+)( for TLS)?`)
)

// A server is a running weir-server.
type server struct {
	process *exec.Cmd
	port    int
	tlsPort int // 0: none
}

func start(t *testing.T, options ...string) *server {
	t.Helper()
	return startAt(t, 0, options...)
}

func startAt(t *testing.T, port int, options ...string) *server {
	t.Helper()
	path := os.Getenv("WEIR_SERVER")
	if path == "" {
		t.Fatal("WEIR_SERVER is not set")
	}
	s := &server{process: exec.Command(path, append(options, "--port", fmt.Sprint(port))...)}
	s.process.Dir = t.TempDir()
	s.process.Env = []string{"PATH=" + os.Getenv("PATH")}
	log, err := s.process.StderrPipe()
	check(t, err)
	s.process.Stdout = os.Stderr
	check(t, s.process.Start())
	t.Cleanup(s.kill)
	lines := bufio.NewScanner(log)
	for s.port == 0 && lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found == nil {
			continue
		} else if found[2] != "" {
			s.tlsPort = number(t, found[1])
		} else {
			s.port = number(t, found[1])
		}
	}
	if s.port == 0 {
		t.Fatal("the server does not listen")
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return s
}

func (s *server) url(login string) string {
	return fmt.Sprintf("redis://%s127.0.0.1:%d", login, s.port)
}

func (s *server) kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
}

// Stops it. Its threads stop one after the other.
func (s *server) pause(t *testing.T) {
	check(t, s.process.Process.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { _ = s.process.Process.Signal(syscall.SIGCONT) })
	awaitTrue(t, "all threads are stopped", func() bool {
		states, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.process.Process.Pid))
		check(t, err)
		for _, path := range states {
			text, err := os.ReadFile(path)
			if err == nil && !strings.Contains(string(text), ") T ") {
				return false
			}
		}
		return true
	})
}

func (s *server) resume(t *testing.T) { check(t, s.process.Process.Signal(syscall.SIGCONT)) }

// A Limiter that is patient, unless the options say otherwise.
func patient(t *testing.T, url string, options ...weir.Option) *weir.Limiter {
	t.Helper()
	return limiter(t, url, append(options, weir.Deadline(patience))...)
}

func limiter(t *testing.T, url string, options ...weir.Option) *weir.Limiter {
	t.Helper()
	l, err := weir.New(url, options...)
	check(t, err)
	t.Cleanup(func() { check(t, l.Close()) })
	return l
}

// The Decision of a call that is no mistake.
func allow(t *testing.T, l *weir.Limiter, words ...string) weir.Decision {
	t.Helper()
	d, err := l.Allow(background, words...)
	check(t, err)
	return d
}

// A port at which no server listens while the test runs.
func closedPort(t *testing.T) int {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(t, err)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	check(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(socket)
	check(t, err)
	return name.(*syscall.SockaddrInet4).Port
}

// A port that is free now.
func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func awaitTrue(t *testing.T, what string, isTrue func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !isTrue(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain: ", what)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[Value comparable](t *testing.T, found, wanted Value) {
	t.Helper()
	if found != wanted {
		t.Fatalf("%v, not %v", found, wanted)
	}
}

func number(t *testing.T, text string) int {
	found, err := strconv.Atoi(text)
	check(t, err)
	return found
}
