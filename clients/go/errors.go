package weir

import (
	"fmt"
	"strings"
	"time"
)

// A Mistake says that the program, its configuration or its user is wrong: a bad limit, a bad URL,
// NOPERM. It is returned also by a Limiter that fails open.
type Mistake struct{ text string }

func (m *Mistake) Error() string { return m.text }

// Returns whether the server is too old for the command.
func (m *Mistake) isUnknownCommand() bool {
	return strings.HasPrefix(m.text, "ERR unknown command ")
}

// Unavailable says that weir gave no answer, or cannot limit now. Only Command and Verify return
// it: the other calls return a Decision.
type Unavailable struct {
	Cause string // as that of a Decision
	text  string
}

func (u *Unavailable) Error() string {
	if u.text == "" {
		return fmt.Sprintf("weir is unavailable (%s)", u.Cause)
	}
	return fmt.Sprintf("weir is unavailable (%s): %s", u.Cause, u.text)
}

// Limited is returned in place of running an action.
type Limited struct {
	Key        string        // whose limit decided
	RetryAfter time.Duration // until the same call would pass; None: never, or not known
	Decision   Decision      // its Reason is Unavailable if weir is away
}

func (l *Limited) Error() string {
	return fmt.Sprintf("%q is limited (%s)", l.Key, l.Decision.Reason)
}
