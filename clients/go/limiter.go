package weir

import (
	"context"
	"fmt"
	"time"

	"weir/client/internal/wire"
	"weir/client/internal/words"
)

const (
	verifiedKey   = "weir:verify"
	verifiedLimit = "1/s"
	waitMax       = 365 * 24 * time.Hour
)

// A Limiter asks weir. Goroutines share it; it connects with the first call.
type Limiter struct {
	settings *settings
	engine   *engine
}

// New returns a Limiter for a URL:
//
//	redis://[user[:password]@]host[:port]    rediss:// with TLS, ?ca=PATH
//	unix:///path
//	redis+sentinel://[user:password@]h1:26379,h2:26379/NAME    rediss+sentinel:// with TLS
//
// All take ?deadline=50ms and ?fail=closed. User, password, path and NAME may be percent-encoded.
func New(url string, options ...Option) (*Limiter, error) { return newLimiter(&url, options) }

// NewWith returns a Limiter for the options Host and Port, UnixSocket, or Sentinels.
func NewWith(options ...Option) (*Limiter, error) { return newLimiter(nil, options) }

func newLimiter(url *string, options []Option) (*Limiter, error) {
	s, err := newSettings(url, options)
	if err != nil {
		return nil, asMistake(err)
	}
	return &Limiter{s, newEngine(s)}, nil
}

// Allow takes tokens from each limit, if all have them.
func (l *Limiter) Allow(ctx context.Context, words ...string) (Decision, error) {
	return l.allow(ctx, words, false)
}

// Peek says what Allow would; it takes nothing.
func (l *Limiter) Peek(ctx context.Context, words ...string) (Decision, error) {
	return l.look(ctx, "RL.PEEK", words, false)
}

// Charge charges what has been used already, whether it is there or not.
func (l *Limiter) Charge(ctx context.Context, words ...string) (Decision, error) {
	return l.look(ctx, "RL.CHARGE", words, false)
}

// Refund gives tokens back.
func (l *Limiter) Refund(ctx context.Context, words ...string) (Decision, error) {
	return l.look(ctx, "RL.REFUND", words, false)
}

// Wait waits for the tokens, this long at most. At most 16 calls wait at a time; another one is
// unavailable, its cause is busy.
func (l *Limiter) Wait(
	ctx context.Context, timeout time.Duration, words ...string,
) (Decision, error) {
	return l.wait(ctx, timeout, words, false)
}

// Detailed returns the calls that ask for a row of each limit.
func (l *Limiter) Detailed() Detailed { return Detailed{l} }

// Command returns the reply to any command: an int64, a string, nil, an error within a list, or a
// []any of these. It never fails open: it returns *Mistake or *Unavailable. Calls share their
// connections, so a command that changes its connection for the next call is a Mistake: MULTI,
// SUBSCRIBE, AUTH, HELLO, MONITOR and their like.
func (l *Limiter) Command(ctx context.Context, given ...string) (any, error) {
	if len(given) == 0 {
		return nil, &Mistake{"a command has at least one word"}
	}
	if name, isOfConnection := words.OfConnection(given); isOfConnection {
		return nil, &Mistake{name + " changes its connection, which other calls share"}
	}
	return l.engine.call(ctx, l.engine.usual(1), given)
}

// Verify connects, logs in and asks RL.PEEK, of your own words if there are any. It returns
// whatever is wrong, an outage too. Called when a service starts, it makes a wrong address loud.
func (l *Limiter) Verify(ctx context.Context, words ...string) error {
	if len(words) == 0 {
		words = []string{verifiedKey, verifiedLimit}
	}
	request, err := l.engine.request(words)
	if err != nil {
		return err
	}
	how := l.engine.usual(1)
	if how.limit < wire.ConnectTime {
		how.limit = wire.ConnectTime
	}
	_, err = l.engine.call(ctx, how, append([]string{"RL.PEEK"}, request.Words...))
	return err
}

// Check returns the Decision if it is allowed, else *Limited.
func (l *Limiter) Check(ctx context.Context, words ...string) (Decision, error) {
	request, err := l.engine.request(words)
	if err != nil {
		return Decision{}, err
	}
	d, err := l.engine.decideOrKeep(ctx, "RL.ALLOW", request, false)
	if err == nil && !d.Allowed {
		err = limited(d, request)
	}
	return d, err
}

// Limited checks the words, and runs the action if they are allowed; else it returns *Limited.
func (l *Limiter) Limited(
	ctx context.Context, action func(context.Context) error, words ...string,
) error {
	if _, err := l.Check(ctx, words...); err != nil {
		return err
	}
	return action(ctx)
}

// Counts returns the Counts since the Limiter was made.
func (l *Limiter) Counts() Counts { return l.engine.counters.copy() }

// Close closes the connections. Calls that are under way are unavailable; later ones return
// *Mistake.
func (l *Limiter) Close() error {
	l.engine.wire.Close()
	l.engine.waits.Close()
	return nil
}

// String returns the URL without the password, and what the Limiter does without an answer.
func (l *Limiter) String() string {
	s := l.settings.address
	return fmt.Sprintf("<Limiter %s, fails %s, deadline %s>", &s, s.Fail, s.Deadline)
}

// GoString returns the same, as no form may have the password.
func (l *Limiter) GoString() string { return l.String() }

func (l *Limiter) allow(ctx context.Context, words []string, hasRows bool) (Decision, error) {
	request, err := l.engine.request(words)
	if err != nil {
		return Decision{}, err
	}
	return l.engine.decideOrKeep(ctx, "RL.ALLOW", request, hasRows)
}

func (l *Limiter) look(
	ctx context.Context, command string, words []string, hasRows bool,
) (Decision, error) {
	request, err := l.engine.request(words)
	if err != nil {
		return Decision{}, err
	}
	return l.engine.decide(ctx, l.engine.usual(1), command, request, request.Words, hasRows)
}

func (l *Limiter) wait(
	ctx context.Context, timeout time.Duration, words []string, hasRows bool,
) (Decision, error) {
	request, err := l.engine.request(words)
	if err != nil {
		return Decision{}, err
	}
	if timeout < 0 || timeout > waitMax {
		l.engine.counters.addMistake()
		return Decision{}, &Mistake{"the timeout of a wait is from 0 to a year"}
	}
	how := sending{1, timeout + l.engine.deadline, l.engine.waits}
	return l.engine.decide(ctx, how, "RL.WAIT", request, request.Words, hasRows,
		"TIMEOUT", inMilliseconds(timeout))
}
