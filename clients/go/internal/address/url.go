package address

import (
	"strconv"
	"strings"
	"time"
)

const schemes = "redis, rediss, unix, redis+sentinel, rediss+sentinel"

// Parse reads a URL:
//
//	redis://[user[:password]@]host[:port]    rediss:// with TLS, ?ca=PATH
//	unix:///path
//	redis+sentinel://[user:password@]h1:26379,h2:26379/NAME    rediss+sentinel:// with TLS
//
// All take ?deadline=50ms (or 1s) and ?fail=closed. User, password, path and NAME may be
// percent-encoded.
func Parse(url string) (*Address, error) {
	scheme, rest, found := strings.Cut(url, "://")
	scheme = strings.ToLower(scheme)
	if found && (scheme == "http" || scheme == "https") {
		return nil, Mistake("weir's HTTP has no client here: docs/http.md says how to ask it")
	}
	if !found || !isScheme(scheme) {
		return nil, Mistake("the URL does not begin with one of " + schemes + " and ://")
	}
	if strings.IndexFunc(rest, isNoPartOfURL) >= 0 {
		return nil, Mistake("the URL has a blank or a '#': percent-encode them")
	}
	a := &Address{UsesTLS: strings.HasPrefix(scheme, "rediss")}
	rest, query, _ := strings.Cut(rest, "?")
	if err := a.readQuery(query); err != nil {
		return nil, err
	}
	if scheme == "unix" {
		return a, a.readPath(rest)
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.readLogin(rest[:at]); err != nil {
			return nil, err
		}
		rest = rest[at+1:]
	}
	return a, a.readHosts(rest, strings.HasSuffix(scheme, "+sentinel"))
}

func (a *Address) readPath(text string) error {
	if !strings.HasPrefix(text, "/") || text == "/" {
		return Mistake("the URL of a Unix socket has an absolute path: unix:///path")
	}
	path, err := decode(text, "path")
	a.Places = []Place{{Path: path}}
	return err
}

func (a *Address) readLogin(text string) error {
	user, password, hasPassword := strings.Cut(text, ":")
	var err error
	if a.Username, err = decode(user, "user"); err != nil {
		return err
	}
	a.HasPassword = hasPassword
	a.Password, err = decode(password, "password")
	return err
}

func (a *Address) readHosts(text string, areSentinels bool) error {
	hosts, path, _ := strings.Cut(text, "/")
	if !areSentinels {
		if path != "" && path != "0" {
			return Mistake("weir has one database: the URL's path is empty or /0")
		}
		place, err := ParsePlace(hosts, Port)
		a.Places = []Place{place}
		return err
	}
	if path == "" {
		return Mistake("the URL lacks the name of the primary: redis+sentinel://host/NAME")
	}
	for _, host := range strings.Split(hosts, ",") {
		place, err := ParsePlace(host, SentinelPort)
		if err != nil {
			return err
		}
		a.Places = append(a.Places, place)
	}
	var err error
	a.Master, err = decode(path, "name")
	return err
}

func (a *Address) readQuery(query string) error {
	seen := map[string]bool{}
	for query != "" {
		var each string
		each, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(each, "=")
		if seen[name] {
			return Mistake("the URL has the parameter " + name + " twice")
		}
		seen[name] = true
		var err error
		switch {
		case name == "deadline":
			a.Deadline, err = parseTime(value)
		case name == "fail":
			a.Fail, err = value, CheckFail(value)
		case name == "ca" && a.UsesTLS && value != "":
			a.CA, err = decode(value, "ca")
		default:
			err = Mistake("the URL has an unknown parameter; it may have deadline and fail; " +
				"rediss also ca")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseTime(text string) (time.Duration, error) {
	for _, unit := range []struct {
		name string
		time time.Duration
	}{{"ms", time.Millisecond}, {"s", time.Second}} {
		digits := strings.TrimSuffix(text, unit.name)
		if digits == text || digits == "" || len(digits) > 7 || !areDigits(digits) {
			continue
		}
		count, _ := strconv.Atoi(digits)
		deadline := time.Duration(count) * unit.time
		return deadline, CheckDeadline(deadline)
	}
	return 0, Mistake("the URL's deadline is like 50ms or 1s")
}

func isScheme(text string) bool {
	for _, scheme := range strings.Split(schemes, ", ") {
		if scheme == text {
			return true
		}
	}
	return false
}

func isNoPartOfURL(r rune) bool {
	return r == '#' || r <= ' ' || r == 0x7f || r == 0x85 || r == 0xa0
}
