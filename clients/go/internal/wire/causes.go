package wire

import "strings"

// The beginnings of errors of a server that runs but cannot limit now, with their causes.
var outages = map[string]string{
	"LOADING":     "loading",
	"READONLY":    "readonly",
	"NOREPLICAS":  "noreplicas",
	"NOACK":       "noack",
	"MISCONF":     "misconf",
	"OOM":         "oom",
	"BUSY":        "busy",
	"MASTERDOWN":  "masterdown",
	"CLUSTERDOWN": "clusterdown",
	"UNBLOCKED":   "unblocked",
	"NOPRIMARY":   "noprimary",
}

const full = "ERR max number of clients reached"

// Lost means that there is no reply.
type Lost struct {
	Cause string
	Text  string
}

func (l *Lost) Error() string { return l.Text }

// Refused is an error of the server, with its whole text.
type Refused struct {
	Text    string
	isLogin bool // it was the answer to AUTH
}

func (r *Refused) Error() string { return r.Text }

// Cause returns the cause of an outage, or "" for a mistake to be mended. A login that is refused
// is a mistake until the first success: later a password is being changed.
func (r *Refused) Cause(hasSucceeded bool) string {
	cause := outages[r.prefix()]
	switch {
	case strings.HasPrefix(r.Text, full):
		return "full"
	case cause == "" && hasSucceeded && (r.isLogin || r.isOfLogin()):
		return "login"
	}
	return cause
}

// Returns whether another server may have become the primary.
func (r *Refused) leavesServer() bool {
	switch r.prefix() {
	case "READONLY", "LOADING", "MASTERDOWN":
		return true
	}
	return false
}

// Returns whether the connection is of no use any longer.
func (r *Refused) leavesConnection() bool {
	switch r.prefix() {
	case "NOAUTH", "WRONGPASS", "DENIED":
		return true
	}
	return r.leavesServer() || strings.HasPrefix(r.Text, full)
}

func (r *Refused) isOfLogin() bool {
	switch r.prefix() {
	case "NOAUTH", "WRONGPASS", "NOPERM", "DENIED":
		return true
	}
	return false
}

func (r *Refused) prefix() string {
	prefix, _, _ := strings.Cut(r.Text, " ")
	return prefix
}
