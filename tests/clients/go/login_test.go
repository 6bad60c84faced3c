package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	weir "weir/client"
)

const users = "user default off\nuser app on >%s ~app:* +@limit\nuser admin on >admin ~* &* +@all\n"

func startWithUsers(t *testing.T) (s *server, changePassword func(string)) {
	path := write(t, fmt.Sprintf(users, "secret"))
	s = start(t, "--users-file", path)
	return s, func(password string) {
		check(t, os.WriteFile(path, []byte(fmt.Sprintf(users, password)), 0o600))
		admin := patient(t, s.url("admin:admin@"))
		_, err := admin.Command(background, "ACL", "LOAD")
		check(t, err)
	}
}

func TestAUserWithFewRights(t *testing.T) {
	s, _ := startWithUsers(t)
	l := patient(t, s.url("app:secret@"), weir.OnUnavailable(func(string) {}))
	_, err := l.Allow(background, "other", "10/s")
	isMistake(t, err, "NOPERM")
	check(t, l.Verify(background, "app:x", "10/s"))
	equal(t, allow(t, l, "app:x", "10/s").Reason, weir.ReasonAllowed)
	d := allow(t, l, "other", "10/s")
	equal(t, fmt.Sprintf("%v %s", d.Allowed, d.Cause), "true login")
	_, err = l.Command(background, "RL.RESET", "app:x")
	var away *weir.Unavailable
	equal(t, errors.As(err, &away), true)
}

func TestAWrongPasswordIsLoud(t *testing.T) {
	s, _ := startWithUsers(t)
	for login, text := range map[string]string{
		"app:wrong@": "WRONGPASS", ":wrong@": "WRONGPASS", "": "NOAUTH",
	} {
		l := patient(t, s.url(login))
		for i := 0; i < 2; i++ {
			_, err := l.Allow(background, "app:x", "10/s")
			isMistake(t, err, text)
			equal(t, strings.Contains(err.Error(), "wrong@"), false)
		}
		isMistake(t, l.Verify(background, "app:x", "1/s"), text)
	}
}

func TestAPasswordThatIsChanged(t *testing.T) {
	s, changePassword := startWithUsers(t)
	var causes []string
	l := patient(t, s.url("app:secret@"), weir.FailClosed(),
		weir.OnUnavailable(func(cause string) { causes = append(causes, cause) }))
	equal(t, allow(t, l, "app:x", "100/s").Allowed, true)
	changePassword("other")
	_, err := patient(t, s.url("admin:admin@")).Command(
		background, "CLIENT", "KILL", "USER", "app")
	check(t, err)
	awaitTrue(t, "the login is refused", func() bool { // the server may not have hung up yet
		return allow(t, l, "app:x", "100/s").Cause == "login"
	})
	changePassword("secret")
	equal(t, allow(t, l, "app:x", "100/s").Allowed, true)
	equal(t, causes[len(causes)-1], "login")
}

// Goal: the error of a login that comes after the deadline is returned by a later call. Method: a
// server that answers the login only then.
func TestALoginThatIsRefusedLate(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	late := make(chan struct{})
	go func() {
		for connection, err := listener.Accept(); err == nil; connection, err = listener.Accept() {
			go func(connection net.Conn) {
				defer connection.Close()
				_, _ = bufio.NewReader(connection).ReadString('$')
				<-late
				_, _ = io.WriteString(connection, "-WRONGPASS invalid username-password pair\r\n")
				_, _ = io.Copy(io.Discard, connection)
			}(connection)
		}
	}()
	l := limiter(t, fmt.Sprintf("redis://app:secret@%s", listener.Addr()),
		weir.OnUnavailable(func(string) {}))
	begin := time.Now()
	equal(t, allow(t, l, "k", "1/s").Cause, "timeout")
	equal(t, time.Since(begin) < bound, true)
	close(late)
	awaitTrue(t, "the login is refused", func() bool {
		_, err := l.Allow(background, "k", "1/s")
		return err != nil && strings.HasPrefix(err.Error(), "WRONGPASS")
	})
}
