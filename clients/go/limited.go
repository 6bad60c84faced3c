// Package limited asks weir before an action and runs it, or says when it would be allowed. It uses
// redigo (`apt-get install golang-github-gomodule-redigo-dev`, or
// `go get github.com/gomodule/redigo`).
//
//	gate := limited.NewGate(limited.Options{Address: "127.0.0.1:7379"})
//
//	err := gate.Limited(sayHello, "greetings", "10/s", "1000/h") // the words of RL.ALLOW
//	var denied *limited.Error
//	if errors.As(err, &denied) { ... }                           // sayHello was not called
//
//	err = gate.Limited(func() error { return send(to) }, "mail:"+to, "3/h", "AND", "mailer", "100/m")
//
//	api := gate.Slice(50, time.Second, "api", "1000/s") // asks weir once for 50 tokens, kept 1 s
//	err = api.Spend()
//
// weir has 50 ms to answer. If it does not answer, or answers that it cannot limit (away below),
// the action is run, or with FailClosed an Error is returned, and the next call connects again.
// Nothing is sent twice: a request whose reply was lost may have been charged, and a second one
// would be charged again. Only holds, which have an id, are sent twice: hold.go and lease.go.
//
// A denial holds for the time that it names, so the same words are not asked again during that
// time, for a second at most: a key under attack costs one request per second.
//
// A mistake in a limit is not an outage: weir's error, a redis.Error, is returned. A Gate and its
// slices can be used by many goroutines.
package limited

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	defaultDeadline = 50 * time.Millisecond
	denialTime      = time.Second // the longest that a denial is kept
	denialsMax      = 10_000
	idleMax         = 16 // connections that are kept
)

// The beginnings of errors of a server that runs but cannot limit.
var away = []string{
	"LOADING ", "MISCONF ", "READONLY ", "NOREPLICAS ", "NOACK ", "MASTERDOWN ", "CLUSTERDOWN ",
	"BUSY ", "OOM ", "NOAUTH ", "ERR max number of clients reached",
}

// weir does not answer, or answers that it cannot limit. Callers of a Gate never see it.
var errNoAnswer = errors.New("weir does not answer")

// Error is returned instead of running an action.
type Error struct {
	Key        string
	RetryAfter time.Duration // 0: the request never passes, or weir does not answer
}

func (e *Error) Error() string { return e.Key + " is limited" }

// Options of a Gate. All but Address may be left out.
type Options struct {
	Address    string        // host:port
	FailClosed bool          // while weir does not answer, actions are not run
	Deadline   time.Duration // for an answer; by default 50 ms
	Now        func() time.Time
	Every      Every // the heartbeat of leases
}

// A Gate asks one server, with as many connections as there are requests at a time.
type Gate struct {
	options Options
	pool    redis.Pool
	mutex   sync.Mutex
	denials map[string]denial // by words
}

type denial struct {
	key       string
	keptUntil time.Time
	retryAt   time.Time // zero: never
}

// NewGate returns a Gate, which connects when it is first asked.
func NewGate(options Options) *Gate {
	if options.Deadline == 0 {
		options.Deadline = defaultDeadline
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Every == nil {
		options.Every = every
	}
	return &Gate{
		options: options,
		pool: redis.Pool{
			MaxIdle: idleMax,
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				return dial(ctx, options)
			},
			TestOnBorrow: func(c redis.Conn, _ time.Time) error { return c.(conn).isOpen() },
		},
		denials: make(map[string]denial),
	}
}

// Check takes a token from each limit, or returns an Error. The words are those of RL.ALLOW: a key
// and its limits, then perhaps AND, a key, its limits.
func (g *Gate) Check(words ...string) error {
	_, err := g.ask("RL.ALLOW", words)
	return err
}

// Limited checks the words, and runs the action if they are allowed.
func (g *Gate) Limited(action func() error, words ...string) error {
	if err := g.Check(words...); err != nil {
		return err
	}
	return action()
}

// Close closes the connections.
func (g *Gate) Close() error { return g.pool.Close() }

// Returns the tokens that weir grants, or an Error. 0 without an error: weir does not answer.
func (g *Gate) ask(command string, words []string, options ...string) (int64, error) {
	now := g.options.Now()
	name := fmt.Sprintf("%q", words)
	g.mutex.Lock()
	known, found := g.denials[name]
	g.mutex.Unlock()
	if found && now.Before(known.keptUntil) {
		return 0, known.err(now)
	}
	granted, err := g.decide(1, command, words, options...)
	var denied *Error
	if errors.As(err, &denied) {
		g.keep(name, now, denied)
	}
	if errors.Is(err, errNoAnswer) {
		return 0, g.noAnswer(words)
	}
	return granted, err
}

// Returns the tokens that weir grants, an Error, or errNoAnswer. Keeps no denial.
func (g *Gate) decide(
	tries int, command string, words []string, options ...string,
) (int64, error) {
	groups := splitAtAnd(words)
	if len(groups) > 1 {
		options = append(options, "WITHLIMITS") // says which key was denied
	}
	reply, err := g.call(tries, command, append(words[:len(words):len(words)], options...))
	if err != nil {
		return 0, err
	}
	var granted, remaining, retryAfterMs, resetAfterMs, decisive int64
	rows, err := redis.Scan(reply, &granted, &remaining, &retryAfterMs, &resetAfterMs, &decisive)
	if err != nil || granted > 0 {
		return granted, err
	}
	denied := &Error{Key: words[0]}
	if len(rows) > 0 {
		group, err := groupOf(rows[0], decisive)
		if err != nil {
			return 0, err
		}
		denied.Key = groups[group][0]
	}
	if retryAfterMs >= 0 {
		denied.RetryAfter = time.Duration(retryAfterMs) * time.Millisecond
	}
	return 0, denied
}

// Returns weir's reply, errNoAnswer, or a redis.Error. With more than one try, a request whose
// reply is lost is sent again.
func (g *Gate) call(tries int, command string, words []string) ([]interface{}, error) {
	for ; tries > 0; tries-- {
		reply, err := redis.Values(g.send(command, words))
		var answer redis.Error
		if err == nil {
			return reply, nil
		}
		if errors.As(err, &answer) {
			if isAway(answer) {
				return nil, errNoAnswer
			}
			return nil, answer
		}
	}
	return nil, errNoAnswer
}

func (g *Gate) noAnswer(words []string) error {
	if g.options.FailClosed {
		return &Error{Key: words[0]}
	}
	return nil
}

func (g *Gate) keep(name string, now time.Time, denied *Error) {
	kept := denial{key: denied.Key, keptUntil: now.Add(denialTime)}
	if denied.RetryAfter > 0 {
		kept.retryAt = now.Add(denied.RetryAfter)
		if kept.retryAt.Before(kept.keptUntil) {
			kept.keptUntil = kept.retryAt
		}
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(g.denials) >= denialsMax {
		g.denials = make(map[string]denial)
	}
	g.denials[name] = kept
}

// Gives tokens back. A refund that fails is not repeated: it may have been made. Without it the
// tokens come back in time.
func (g *Gate) refund(words []string, tokens int64) {
	groups := splitAtAnd(words)
	for i, group := range groups {
		groups[i] = append(group[:len(group):len(group)], "COST", fmt.Sprint(tokens))
	}
	_, _ = g.send("RL.REFUND", joinWithAnd(groups))
}

func (g *Gate) send(command string, words []string) (interface{}, error) {
	ctx, cancel := context.WithTimeout(context.Background(), g.options.Deadline)
	defer cancel()
	connection, err := g.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	if left <= 0 {
		return nil, context.DeadlineExceeded
	}
	return redis.DoWithTimeout(connection, left, command, redis.Args{}.AddFlat(words)...)
}

func (d *denial) err(now time.Time) error {
	if d.retryAt.IsZero() {
		return &Error{Key: d.key}
	}
	return &Error{Key: d.key, RetryAfter: d.retryAt.Sub(now)}
}

func isAway(mistake redis.Error) bool {
	for _, beginning := range away {
		if strings.HasPrefix(string(mistake), beginning) {
			return true
		}
	}
	return false
}

// The groups of a request: a key, its limits and its cost.
func splitAtAnd(words []string) [][]string {
	var groups [][]string
	for begin, i := 0, 1; i <= len(words); i++ {
		if i == len(words) || (i > begin && strings.EqualFold(words[i], "AND")) {
			groups = append(groups, words[begin:i])
			begin = i + 1
		}
	}
	return groups
}

// The words of a request.
func joinWithAnd(groups [][]string) []string {
	var words []string
	for i, group := range groups {
		if i > 0 {
			words = append(words, "AND")
		}
		words = append(words, group...)
	}
	return words
}

// The group of the limit that decided, from its row of WITHLIMITS.
func groupOf(rows interface{}, decisive int64) (int64, error) {
	all, err := redis.Values(rows, nil)
	if err != nil {
		return 0, err
	}
	row, err := redis.Values(all[decisive], nil)
	if err != nil {
		return 0, err
	}
	if len(row) < 7 {
		return 0, errors.New("AND needs weir 0.2 or later")
	}
	return redis.Int64(row[6], nil)
}

// A connection that can tell whether the server has closed it.
type conn struct {
	redis.ConnWithTimeout
	socket net.Conn
}

func dial(ctx context.Context, options Options) (redis.Conn, error) {
	var socket net.Conn
	keepSocket := func(ctx context.Context, network, address string) (net.Conn, error) {
		var err error
		socket, err = new(net.Dialer).DialContext(ctx, network, address)
		return socket, err
	}
	connection, err := redis.DialContext(ctx, "tcp", options.Address,
		redis.DialContextFunc(keepSocket), redis.DialWriteTimeout(options.Deadline))
	if err != nil {
		return nil, err
	}
	return conn{connection.(redis.ConnWithTimeout), socket}, nil
}

// An idle connection has nothing to read, not even its end. (Go's sockets do not block.)
func (c conn) isOpen() error {
	if err := c.socket.SetReadDeadline(time.Time{}); err != nil { // that of the last request
		return err
	}
	raw, err := c.socket.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	open := false
	err = raw.Read(func(fd uintptr) bool {
		var buffer [1]byte
		_, err := syscall.Read(int(fd), buffer[:])
		open = errors.Is(err, syscall.EAGAIN)
		return true
	})
	if err == nil && !open {
		err = net.ErrClosed
	}
	return err
}
