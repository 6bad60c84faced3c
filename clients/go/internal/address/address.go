// Package address says where weir is, as the URL of a Limiter or its options say.
package address

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The ports that are meant where none is said.
const (
	Port         = 7379
	SentinelPort = 26379
)

// DeadlineMax is the longest deadline of a call.
const DeadlineMax = time.Hour

// A Place is a host and its port; or, without a host, the path of a Unix socket.
type Place struct {
	Host string
	Port int
	Path string
}

func (p Place) String() string {
	switch {
	case p.Host == "":
		return p.Path
	case strings.Contains(p.Host, ":"):
		return "[" + p.Host + "]:" + strconv.Itoa(p.Port)
	}
	return p.Host + ":" + strconv.Itoa(p.Port)
}

// An Address is one place, or the places of Sentinels and the name of the primary that they know.
type Address struct {
	Places      []Place
	Master      string // empty: without Sentinel
	UsesTLS     bool
	CA          string // the path of the authorities' certificates; empty: the system's
	Username    string
	Password    string
	HasPassword bool
	Deadline    time.Duration // 0: not said
	Fail        string        // empty: not said
}

// HasLogin returns whether the server is told who asks.
func (a *Address) HasLogin() bool { return a.Username != "" || a.HasPassword }

// String returns the URL without the password.
func (a *Address) String() string {
	if a.Places[0].Path != "" {
		return "unix://" + a.Places[0].Path
	}
	scheme, user, name := "redis", "", ""
	if a.UsesTLS {
		scheme = "rediss"
	}
	if a.Master != "" {
		scheme += "+sentinel"
		name = "/" + a.Master
	}
	if a.Username != "" {
		user = a.Username + "@"
	}
	places := make([]string, len(a.Places))
	for i, place := range a.Places {
		places[i] = place.String()
	}
	return scheme + "://" + user + strings.Join(places, ",") + name
}

// A Mistake says which part of an address is wrong, without the password.
type Mistake string

func (m Mistake) Error() string { return string(m) }

// ParsePlace reads "name", "name:port", "[IPv6]" or "[IPv6]:port".
func ParsePlace(text string, port int) (Place, error) {
	host, digits := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return Place{}, errHost
		}
		host, digits = text[1:end], text[end+1:]
		if host == "" || strings.Trim(host, "0123456789ABCDEFabcdef:.%") != "" {
			return Place{}, errHost
		}
	} else if colon := strings.IndexByte(text, ':'); colon >= 0 {
		host, digits = text[:colon], text[colon:]
	}
	if host == "" || (host == text && strings.ContainsAny(host, "[]/,@")) {
		return Place{}, errHost
	}
	if digits == "" {
		return Place{Host: host, Port: port}, nil
	}
	if digits[0] != ':' || len(digits) < 2 || len(digits) > 6 || !areDigits(digits[1:]) {
		return Place{}, errHost
	}
	port, _ = strconv.Atoi(digits[1:])
	return Place{Host: host, Port: port}, CheckPort(port)
}

// CheckPort returns a Mistake if there is no such port.
func CheckPort(port int) error {
	if port < 1 || port > 65535 {
		return Mistake("the port is a number from 1 to 65535")
	}
	return nil
}

// CheckDeadline returns a Mistake if no call can have this deadline.
func CheckDeadline(deadline time.Duration) error {
	if deadline <= 0 || deadline > DeadlineMax {
		return Mistake("the deadline is above 0, and an hour at most")
	}
	return nil
}

// CheckFail returns a Mistake if the word is no choice.
func CheckFail(word string) error {
	if word != "open" && word != "closed" {
		return Mistake(`fail is "open" or "closed"`)
	}
	return nil
}

const errHost = Mistake("the host is name, name:port, or an IPv6 address in brackets")

func areDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// Decodes percent-encoded text, of the part of a URL with this name.
func decode(text, part string) (string, error) {
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return "", Mistake("the URL's " + part + " has a '%' that encodes nothing: a '%' is %25")
	}
	if strings.ToValidUTF8(decoded, "") != decoded {
		return "", Mistake("the URL's " + part + " is no UTF-8 text")
	}
	return decoded, nil
}
