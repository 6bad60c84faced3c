package weir

import (
	"context"
	"sync"
	"time"
)

const heartbeats = 3 // in a time to live

// A Lease is a slot that is held while a job runs, by a heartbeat, and is free soon after the
// worker dies.
//
//	slot, err := limiter.Lease(ctx, 30*time.Second, "printer", "1,held")
//	if err != nil { ... }                       // *Limited, *Mistake
//	defer slot.Release(ctx)
//	for _, page := range pages {
//		if slot.Lost() {                        // another worker may have the slot
//			break
//		}
//		print(page)
//	}
//
// A goroutine renews the lease at a third of its time to live. If weir has forgotten it, or does
// not answer for the whole of that time, the lease is lost, and is not taken again. Lost goes by
// the clock, so it is in time even if the heartbeat is late.
//
// A Limiter that fails open goes on while weir is away; then there is no lease that could be lost.
// Goroutines can share a Lease.
type Lease struct {
	engine *engine
	turn   sync.Mutex // held during a request
	hold   *Hold
	stop   func() // ends the heartbeat; nil: there is none

	state  sync.Mutex // guards the fields below
	isLost bool
	end    time.Time // weir keeps the hold until then at least; zero: there is no lease
}

// Lease returns a Lease of these words of RL.RESERVE, or *Limited.
func (l *Limiter) Lease(
	ctx context.Context, ttl time.Duration, words ...string,
) (*Lease, error) {
	hold, err := newHold(l.engine, ttl, NoEstimate, words)
	if err != nil {
		return nil, err
	}
	lease := &Lease{engine: l.engine, hold: hold}
	begin := l.engine.clock()
	if err := hold.reserve(ctx); err != nil {
		return nil, err
	}
	if hold.isOpen {
		lease.turn.Lock() // the first heartbeat may come at once
		defer lease.turn.Unlock()
		lease.end = begin.Add(hold.ttl)
		lease.stop = l.engine.every(hold.ttl/heartbeats, lease.beat)
	}
	return lease, nil
}

// Lost returns whether weir may have given the slot to another worker.
func (l *Lease) Lost() bool {
	l.state.Lock()
	defer l.state.Unlock()
	return l.isLost || (!l.end.IsZero() && !l.engine.clock().Before(l.end))
}

// Release frees the slot. It returns whether it was held until now.
func (l *Lease) Release(ctx context.Context) bool {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.stop == nil {
		return false
	}
	l.stop()
	l.stop = nil
	isLost := l.Lost()
	l.set(time.Time{}, isLost)
	settled, err := l.hold.Settle(ctx, 0) // without an answer it expires
	return settled && err == nil && !isLost
}

func (l *Lease) set(end time.Time, isLost bool) {
	l.state.Lock()
	defer l.state.Unlock()
	l.end, l.isLost = end, isLost
}

func (l *Lease) beat() {
	l.turn.Lock()
	defer l.turn.Unlock()
	now, end := l.engine.clock(), l.end // nobody else sets it during a turn
	if l.stop == nil || !l.hold.isOpen || l.isLost || !now.Before(end) {
		return // released, or a renewal would be a new request
	}
	d, err := l.hold.ask(context.Background())
	switch {
	case err != nil || d.Reason == ReasonDenied || d.Reason == ReasonNever:
		l.hold.isOpen = false
		l.set(end, true)
	case d.Reason == ReasonUnavailable: // the next may be answered
	case !l.engine.clock().Before(end): // it may have been a new request
		l.set(end, true)
		l.hold.Cancel(context.Background())
	default:
		l.set(now.Add(l.hold.ttl), false)
	}
}
