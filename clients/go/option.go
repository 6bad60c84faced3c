package weir

import (
	"crypto/tls"
	"time"

	"weir/client/internal/address"
)

// An Option of a Limiter. What its URL says, an option may not say again.
type Option func(*settings) error

// Host says where weir is, in place of a URL; by default at 127.0.0.1.
func Host(host string) Option {
	return func(s *settings) error { return setOnce(&s.host, host, "the host") }
}

// Port is that of the Host; by default 7379.
func Port(port int) Option {
	return func(s *settings) error {
		s.port = port
		return address.CheckPort(port)
	}
}

// UnixSocket says where weir is, in place of a URL.
func UnixSocket(path string) Option {
	return func(s *settings) error { return setOnce(&s.unixSocket, path, "the Unix socket") }
}

// Sentinels are places, "host:port" or "host", that know where the primary of this name is, in
// place of a URL.
func Sentinels(master string, places ...string) Option {
	return func(s *settings) error {
		if len(places) == 0 {
			return address.Mistake("the list of the Sentinels is empty")
		}
		s.sentinels = places
		return setOnce(&s.master, master, "the name of the Sentinels' primary")
	}
}

// Login says who asks. An empty username is the user "default".
func Login(username, password string) Option {
	return func(s *settings) error {
		if s.address.HasLogin() {
			return address.Mistake("both the URL and an option say the user or the password")
		}
		s.address.Username = username
		s.address.Password, s.address.HasPassword = password, true
		return nil
	}
}

// TLS asks over TLS. A nil config verifies the server's name with the authorities of the system.
func TLS(config *tls.Config) Option {
	return func(s *settings) error {
		s.tls, s.address.UsesTLS = config, true
		return nil
	}
}

// Deadline is how long a call may take; by default 50 ms.
func Deadline(deadline time.Duration) Option {
	return func(s *settings) error {
		if s.address.Deadline != 0 {
			return address.Mistake("both the URL and an option say the deadline")
		}
		s.address.Deadline = deadline
		return address.CheckDeadline(deadline)
	}
}

// Fail says what calls without an answer are: "open" allows them, which is the default, and
// "closed" does not.
func Fail(choice string) Option {
	return func(s *settings) error {
		if s.address.Fail != "" {
			return address.Mistake("both the URL and an option say fail")
		}
		s.address.Fail = choice
		return address.CheckFail(choice)
	}
}

// FailClosed allows no call without an answer.
func FailClosed() Option { return Fail("closed") }

// OnUnavailable is told the cause of each answer that is missing. What it panics with is swallowed
// and counted. Without it the package log gets a line, at most one a minute.
func OnUnavailable(tell func(cause string)) Option {
	return func(s *settings) error {
		s.onUnavailable = tell
		return nil
	}
}

// Clock replaces time.Now, for tests.
func Clock(now func() time.Time) Option {
	return func(s *settings) error {
		s.clock = now
		return nil
	}
}

// Timer replaces what calls the heartbeats of leases and ends slices, for tests.
func Timer(every Every) Option {
	return func(s *settings) error {
		s.every = every
		return nil
	}
}

func setOnce(field *string, value, name string) error {
	if *field != "" || value == "" {
		return address.Mistake(name + " is empty, or said twice")
	}
	*field = value
	return nil
}
