package limited

import (
	"errors"
	"sync"
	"time"
)

const heartbeats = 3 // in a time to live

// Every calls a function again and again. It returns a function that ends that, and is called once.
type Every func(period time.Duration, call func()) (stop func())

// A Lease is a slot that is held while a job runs, by a heartbeat, and is free soon after the
// worker dies.
//
//	slot, err := gate.Lease(30*time.Second, "printer", "1,held")
//	if err != nil { ... }                  // as of Check
//	defer slot.Release()
//	for _, page := range pages {
//		if slot.Lost() {                   // another worker may have the slot
//			break
//		}
//		print(page)
//	}
//
// A goroutine renews the lease at a third of its time to live, here 30 s. If weir has forgotten it,
// or does not answer for the whole of that time, the lease is lost, and is not taken again. Lost
// goes by the clock, so it is in time even if the heartbeat is late. Release frees the slot; other
// limits, such as a rate, stay charged.
//
// A Gate that fails open runs the job while weir is away; then there is no lease that could be
// lost. Goroutines can share a Lease.
type Lease struct {
	now  func() time.Time
	ttl  time.Duration
	turn sync.Mutex // held during a request
	hold *Hold

	state  sync.Mutex // guards the fields below
	isLost bool
	end    time.Time // weir keeps the hold until then at least; zero: there is no lease
	stop   func()    // ends the heartbeat, as the end of the lease is zero
}

// Lease returns a Lease of these words of RL.RESERVE, or an Error.
func (g *Gate) Lease(ttl time.Duration, words ...string) (*Lease, error) {
	hold, err := g.newHold(0, ttl, words)
	if err != nil {
		return nil, err
	}
	l := &Lease{now: g.options.Now, ttl: ttl.Truncate(time.Millisecond), hold: hold}
	begin := l.now()
	if err := hold.reserve(); err != nil {
		return nil, err
	}
	if hold.isOpen {
		l.end = begin.Add(l.ttl)
		l.stop = g.options.Every(l.ttl/heartbeats, l.beat)
	}
	return l, nil
}

// Lost returns whether weir may have given the slot to another worker.
func (l *Lease) Lost() bool {
	l.state.Lock()
	defer l.state.Unlock()
	return l.isLostAt(l.now())
}

// Release frees the slot. It returns whether it was held until now.
func (l *Lease) Release() bool {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.stop == nil {
		return false
	}
	l.stop()
	l.stop = nil
	lost := l.Lost()
	l.setEnd(time.Time{}, lost)
	settled, err := l.hold.Settle(0) // without an answer it expires
	return settled && err == nil && !lost
}

func (l *Lease) isLostAt(now time.Time) bool {
	return l.isLost || (!l.end.IsZero() && !now.Before(l.end))
}

func (l *Lease) setEnd(end time.Time, isLost bool) {
	l.state.Lock()
	defer l.state.Unlock()
	l.end, l.isLost = end, isLost
}

func (l *Lease) beat() {
	l.turn.Lock()
	defer l.turn.Unlock()
	now := l.now()
	if !l.hold.isOpen || !now.Before(l.end) {
		return // a renewal would be a new request
	}
	err := l.hold.ask()
	switch {
	case errors.Is(err, errNoAnswer): // the next may be answered
	case err != nil:
		l.hold.isOpen = false
		l.setEnd(l.end, true)
	case !l.now().Before(l.end): // it may have been a new request
		l.hold.Cancel()
		l.setEnd(l.end, true)
	default:
		l.setEnd(now.Add(l.ttl), false)
	}
}

func every(period time.Duration, call func()) func() {
	ticker, stopped := time.NewTicker(period), make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				call()
			case <-stopped:
				ticker.Stop()
				return
			}
		}
	}()
	return func() { close(stopped) }
}
