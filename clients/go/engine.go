package weir

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"weir/client/internal/address"
	"weir/client/internal/wire"
	"weir/client/internal/words"
)

const (
	holdTries = 2 // a hold has an id, so that a request whose reply is lost may be sent again
	linksMax  = 16
	waitsMax  = 16

	sliceCommand = "RL.SLICE"
)

// The engine asks, and decides without an answer. Goroutines share it.
type engine struct {
	deadline     time.Duration
	failsOpen    bool
	clock        func() time.Time
	every        Every
	counters     counters
	denials      denials
	hasSucceeded atomic.Bool
	wire         *wire.Wire
	waits        *wire.Wire // calls whose replies take long
}

// Where and how a request is sent.
type sending struct {
	tries int
	limit time.Duration
	wire  *wire.Wire
}

func newEngine(s *settings) *engine {
	route := &wire.Route{Address: &s.address, TLS: s.tls, Deadline: s.address.Deadline}
	failsOpen := s.address.Fail == "open"
	return &engine{
		deadline:  s.address.Deadline,
		failsOpen: failsOpen,
		clock:     s.clock,
		every:     s.every,
		counters:  counters{onUnavailable: s.onUnavailable, failsOpen: failsOpen},
		wire:      wire.New(route, linksMax, false),
		waits:     wire.New(route, waitsMax, true),
	}
}

// Returns the Request of these words; counts a mistake in them.
func (e *engine) request(given []string) (*words.Request, error) {
	request, err := words.New(given)
	if err != nil {
		e.counters.addMistake()
		return nil, &Mistake{err.Error()}
	}
	return request, nil
}

// Returns the Decision, without a request if a denial of the same words is kept.
func (e *engine) decideOrKeep(
	ctx context.Context, command string, request *words.Request, hasRows bool, options ...string,
) (Decision, error) {
	now := e.clock()
	name := nameOf(request.Words, hasRows || request.HasSeveralKeys())
	if kept, ok := e.denials.find(name, now); ok {
		e.counters.addKept()
		return kept, nil
	}
	d, err := e.decide(ctx, e.usual(1), command, request, request.Words, hasRows, options...)
	if err == nil && (d.Reason == ReasonDenied || d.Reason == ReasonNever) {
		e.denials.keep(name, now, d)
	}
	return d, err
}

// Returns the Decision, which is unavailable if there is no answer.
func (e *engine) decide(
	ctx context.Context, how sending, command string, request *words.Request, given []string,
	hasRows bool, options ...string,
) (Decision, error) {
	all := make([]string, 0, 2+len(given)+len(options))
	all = append(append(append(all, command), given...), options...)
	if hasRows || request.HasSeveralKeys() { // to know which key was denied
		all = append(all, "WITHLIMITS")
	}
	reply, err := e.call(ctx, how, all)
	var d Decision
	switch {
	case err == nil && command == sliceCommand:
		d, err = readSlice(reply, request)
	case err == nil:
		d, err = readDecision(reply, request)
	}
	var away *Unavailable
	var mistake *Mistake
	switch {
	case err == nil:
		e.counters.addDecision(d.Allowed)
	case errors.As(err, &away):
		return e.withoutAnswer(away.Cause), nil
	case errors.As(err, &mistake) && command == sliceCommand && mistake.isUnknownCommand():
		// weir is older: no mistake of the program.
	case errors.As(err, &mistake):
		e.counters.addMistakenAsk()
	}
	return d, err
}

// Tells the outage; returns the Decision that the Limiter is to take.
func (e *engine) withoutAnswer(cause string) Decision {
	e.counters.addUnavailable(cause, e.clock())
	return unavailable(cause, e.failsOpen)
}

// How a request is sent unless it is a wait.
func (e *engine) usual(tries int) sending { return sending{tries, e.deadline, e.wire} }

// Returns the reply, or *Mistake, *Unavailable, context.Canceled, or an error of go-redis as it is.
func (e *engine) call(ctx context.Context, how sending, given []string) (any, error) {
	for closed := error(&Mistake{wire.ErrClosed.Error()}); ; {
		how.tries--
		reply, err := e.ask(ctx, how, given)
		var lost *wire.Lost
		var refused *wire.Refused
		switch {
		case err == nil:
			e.hasSucceeded.Store(true)
			return reply, nil
		case errors.As(err, &lost):
			closed = &Unavailable{lost.Cause, lost.Text} // the call had begun before
			if how.tries > 0 && ctx.Err() == nil {
				continue
			}
			return nil, closed
		case errors.As(err, &refused):
			if cause := refused.Cause(e.hasSucceeded.Load()); cause != "" {
				return nil, &Unavailable{cause, refused.Text}
			}
			return nil, &Mistake{refused.Text}
		case errors.Is(err, wire.ErrClosed):
			return nil, closed
		}
		return nil, err
	}
}

func (e *engine) ask(ctx context.Context, how sending, given []string) (any, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, context.Canceled
	}
	return how.wire.Ask(ctx, given, how.limit)
}

// The error for a call that is not allowed.
func limited(d Decision, request *words.Request) error {
	group := 0
	if len(d.Limits) > 0 {
		group = d.Limits[d.Limit].Group
	}
	return &Limited{request.Key(group), d.RetryAfter, d}
}

// A mistake in an address is one of the callers.
func asMistake(err error) error {
	var mistake address.Mistake
	if errors.As(err, &mistake) {
		return &Mistake{string(mistake)}
	}
	return err
}

// Whole milliseconds, as the server reads them.
func inMilliseconds(time time.Duration) string { return strconv.FormatInt(time.Milliseconds(), 10) }

// A context that does not end, with the values of another one.
type endless struct{ context.Context }

func (endless) Deadline() (end time.Time, ok bool) { return time.Time{}, false }
func (endless) Done() <-chan struct{}              { return nil }
func (endless) Err() error                         { return nil }
