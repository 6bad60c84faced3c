package weir

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"weir/client/internal/words"
)

// NoEstimate is that of a Hold whose limits have no place for one.
const NoEstimate = -1

const holdIDBytes = 16

// A Hold is a reservation of what an action will use, as estimated, that is settled with what it
// did use. It is for one goroutine at a time.
//
//	held, err := limiter.Reserve(ctx, 2*time.Minute, 1500, "team:7", "5,held", "100k/m,cost={}")
//	if err != nil { ... }                        // *Limited, *Mistake
//	defer held.Cancel(ctx)                       // if it has not been settled
//	_, err = held.Settle(ctx, callModel())       // frees the slot, charges 812 tokens, not 1500
//
// Each `cost={}` is the estimate's place; the other limits are charged as they stand. A Hold that
// is cancelled gives all of it back at once; so does the end of its time to live, here two minutes,
// if the program dies.
//
// A request whose reply is lost is sent once more. It has the same id, a random one, so it is
// charged once. A Limiter that fails open goes on while weir is away; then there is no hold, and
// Settle does nothing. A denial is not kept, as a slot may be free at any time.
type Hold struct {
	engine  *engine
	request *words.Request
	words   []string
	id      string
	ttl     time.Duration

	isOpen     bool // weir may have the hold, not settled
	isSettled  bool
	hasSettled bool // has tried to
}

// Reserve returns a Hold of these words of RL.RESERVE, or *Limited.
func (l *Limiter) Reserve(
	ctx context.Context, ttl time.Duration, estimate int64, words ...string,
) (*Hold, error) {
	h, err := newHold(l.engine, ttl, estimate, words)
	if err == nil {
		err = h.reserve(ctx)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// IsOpen returns whether there is a hold to settle: not without an answer of weir.
func (h *Hold) IsOpen() bool { return h.isOpen }

// Settle charges what was used in place of the estimate. It returns whether that is so. It is not
// if there is no hold, if it has expired, or if weir does not answer; only then can it be repeated.
func (h *Hold) Settle(ctx context.Context, used int64) (bool, error) {
	if used < 0 {
		h.engine.counters.addMistake()
		return false, &Mistake{"what was used is 0 or more"}
	}
	if !h.isOpen {
		return h.isSettled, nil
	}
	h.hasSettled = true
	var err error
	h.isSettled, err = h.end(ctx, "RL.COMMIT", h.request.Costs(used, true))
	return h.isSettled, err
}

// SettleOrCharge settles; if the hold has expired, it charges what was used. It returns whether it
// is settled. A hold that expires gives back all that it reserved. So a budget that must not be
// undercounted wants this, and one that must not be overdrawn wants Settle.
func (h *Hold) SettleOrCharge(ctx context.Context, used int64) (bool, error) {
	wasOpen := h.isOpen
	settled, err := h.Settle(ctx, used)
	if settled || err != nil || !wasOpen || h.isOpen {
		return settled, err
	}
	if charged := h.request.Costs(used, false); len(charged) > 0 {
		_, _, err = h.try(ctx, 1, append([]string{"RL.CHARGE"}, charged...))
	}
	return false, err // it may have been charged, so it is not repeated
}

// Cancel gives all of it back, unless it has been settled.
func (h *Hold) Cancel(ctx context.Context) {
	if !h.isOpen || h.hasSettled {
		return
	}
	if _, err := h.end(ctx, "RL.CANCEL", h.request.Keys()); err != nil {
		h.engine.counters.addMistake() // it expires
	}
}

func newHold(e *engine, ttl time.Duration, estimate int64, given []string) (*Hold, error) {
	request, err := e.request(given)
	if err != nil {
		return nil, err
	}
	if estimate < NoEstimate {
		e.counters.addMistake()
		return nil, &Mistake{"an estimate is 0 or more, or NoEstimate"}
	}
	costed, err := request.WithCost(estimate)
	if err != nil {
		e.counters.addMistake()
		return nil, &Mistake{err.Error()}
	}
	if ttl < time.Millisecond {
		e.counters.addMistake()
		return nil, &Mistake{"the time to live is a millisecond at least"}
	}
	id, err := newHoldID()
	if err != nil {
		return nil, err
	}
	ttl = ttl.Truncate(time.Millisecond)
	return &Hold{engine: e, request: request, words: costed, id: id, ttl: ttl}, nil
}

func newHoldID() (string, error) {
	id := make([]byte, holdIDBytes)
	_, err := rand.Read(id)
	return hex.EncodeToString(id), err
}

// Reserves, or begins the time to live again; or returns *Limited. Without an answer there is no
// hold, and a Limiter that fails open goes on.
func (h *Hold) reserve(ctx context.Context) error {
	d, err := h.ask(ctx)
	if err != nil {
		return err
	}
	if !d.Allowed {
		return limited(d, h.request)
	}
	h.isOpen = d.Reason == ReasonAllowed
	return nil
}

func (h *Hold) ask(ctx context.Context) (Decision, error) {
	return h.engine.decide(ctx, h.engine.usual(holdTries), "RL.RESERVE", h.request, h.words, false,
		"HOLD", h.id, "TTL", inMilliseconds(h.ttl))
}

// Ends the hold. Returns whether weir had it.
func (h *Hold) end(ctx context.Context, command string, given []string) (bool, error) {
	all := append(append([]string{command}, given...), "HOLD", h.id)
	first, answered, err := h.try(ctx, holdTries, all)
	if err != nil || !answered {
		return false, err
	}
	h.isOpen = false
	return first == 1, nil
}

// Returns the first number of the reply, and whether there was one.
func (h *Hold) try(ctx context.Context, tries int, given []string) (int64, bool, error) {
	reply, err := h.engine.call(endless{ctx}, h.engine.usual(tries), given)
	var away *Unavailable
	if errors.As(err, &away) {
		h.engine.withoutAnswer(away.Cause)
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	first, err := readFirst(reply)
	return first, err == nil, err
}
