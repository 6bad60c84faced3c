// Package wire brings a request to weir, and its reply back, over connections of go-redis.
//
// A call has a deadline, which covers all of it: waiting for a connection, connecting, TLS, the
// login and the reply. It ends the call, not the connecting, which goes on for a second: so a first
// connection that is slow (TLS, a cold process) is there for a later call, and the error of a login
// that comes late is returned by the next one.
package wire

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ConnectTime is how long connecting goes on at least, also if its call has ended.
const ConnectTime = time.Second

// ErrClosed is returned by a Wire that is closed.
var ErrClosed = errors.New("the Limiter is closed")

// A Wire has at most so many links. Goroutines may share it.
//
// A link is of a generation. Once a connection was lost, or its server is no longer the primary,
// links of earlier generations are closed when they come back.
type Wire struct {
	route          *Route
	linksMax       int
	isBusyWhenFull bool // else a call waits for a link

	lasting context.Context // ends when the Wire is closed
	end     context.CancelFunc

	mutex      sync.Mutex         // guards all below
	idle       []*link            // the last one used is the first to be used
	busy       map[*link]struct{} // links of calls
	open       int                // links, also those that are being connected
	generation int
	waiting    []*waiter
	late       error // what a login was told when its caller had gone
	isClosed   bool
}

// A waiter is a call that waits for a link. It is made one offer, while it is among those that
// wait.
type waiter struct {
	offers       chan offer
	left         chan struct{} // closed when it waits no longer
	isConnecting bool          // a new link is on its way to it
}

// An offer is a link, or an error; or neither: the call looks for a link once more.
type offer struct {
	link *link
	err  error
}

// New returns a Wire, which connects when it is first asked.
func New(route *Route, linksMax int, isBusyWhenFull bool) *Wire {
	w := &Wire{route: route, linksMax: linksMax, isBusyWhenFull: isBusyWhenFull}
	w.lasting, w.end = context.WithCancel(context.Background())
	w.busy = make(map[*link]struct{})
	return w
}

// Ask sends the words once, and returns the reply, Lost, Refused, ErrClosed, context.Canceled if
// the caller has cancelled ctx, or an error of go-redis as it is.
func (w *Wire) Ask(ctx context.Context, words []string, limit time.Duration) (any, error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := w.take(bounded)
	if err != nil {
		return nil, w.ended(ctx, err)
	}
	end, _ := bounded.Deadline()
	reply, err := l.ask(ctx, end, words)
	refused, isRefused := err.(*Refused)
	switch {
	case err == nil:
		w.give(l)
	case isRefused:
		if refused.leavesConnection() {
			w.drop(l)
		} else {
			w.give(l)
		}
		if refused.leavesServer() {
			w.leaveServer()
		}
	default:
		w.drop(l)
		err = w.ended(ctx, err)
		if isLost(err, "connection") {
			w.leaveServer()
		}
	}
	return reply, err
}

// Close closes the connections. Calls that are under way are Lost; later ones return ErrClosed.
func (w *Wire) Close() {
	w.mutex.Lock()
	w.isClosed = true
	w.late = nil
	for _, each := range w.waiting {
		each.offers <- offer{err: closedMeanwhile()}
	}
	w.waiting = nil
	for l := range w.busy {
		_ = l.socket.Close()
	}
	w.mutex.Unlock()
	w.end()
	w.leaveServer()
}

// The error of a call that was under way when the Wire was closed.
func closedMeanwhile() error { return &Lost{"connection", ErrClosed.Error()} }

// The error of a call: that of its caller's context, if that was cancelled.
func (w *Wire) ended(ctx context.Context, err error) error {
	if _, isLost := err.(*Lost); isLost && errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	if isLost(err, "timeout") {
		w.route.forget()
	}
	return err
}

// Returns an idle link, or a new one once it is there.
func (w *Wire) take(ctx context.Context) (*link, error) {
	closed := ErrClosed
	for ; ; closed = closedMeanwhile() {
		w.mutex.Lock()
		if w.isClosed {
			w.mutex.Unlock()
			return nil, closed
		}
		if l := w.popIdle(); l != nil {
			w.busy[l] = struct{}{}
			w.mutex.Unlock()
			return l, nil
		}
		if late := w.late; late != nil {
			w.late = nil
			w.mutex.Unlock()
			return nil, late
		}
		own := w.beginWaiting(ctx)
		w.mutex.Unlock()
		if own == nil {
			return nil, &Lost{"busy", "too many calls wait"}
		}
		select {
		case got := <-own.offers:
			close(own.left)
			if got.link != nil || got.err != nil {
				return got.link, got.err
			}
		case <-ctx.Done():
			close(own.left)
			w.leave(own)
			return nil, &Lost{"timeout", "no connection in time"}
		}
	}
}

// Returns a call that waits for a link, or nil if it may not. The mutex is held.
func (w *Wire) beginWaiting(ctx context.Context) *waiter {
	own := &waiter{
		offers: make(chan offer, 1), left: make(chan struct{}), isConnecting: w.open < w.linksMax,
	}
	if !own.isConnecting && w.isBusyWhenFull {
		return nil
	}
	if own.isConnecting {
		w.open++
		end, _ := ctx.Deadline()
		go w.connect(own, time.Until(end))
	}
	w.waiting = append(w.waiting, own)
	return own
}

// Returns an idle link that the server has not closed meanwhile, or nil. The mutex is held.
func (w *Wire) popIdle() *link {
	for len(w.idle) > 0 {
		last := len(w.idle) - 1
		l := w.idle[last]
		w.idle = w.idle[:last]
		if l.isIdle() {
			return l
		}
		w.open--
		l.close()
	}
	return nil
}

// Connects, for the call that waits, or for a later one. The call has this time left; once it waits
// no longer, connecting ends after ConnectTime.
func (w *Wire) connect(own *waiter, left time.Duration) {
	ctx, cancel := context.WithTimeout(w.lasting, connectTime(left))
	defer cancel()
	defer time.AfterFunc(ConnectTime, func() {
		select {
		case <-own.left:
		case <-ctx.Done():
		}
		cancel()
	}).Stop()
	l, err := w.route.connect(ctx)
	if err != nil {
		w.route.forget()
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err == nil {
		w.late = nil
		l.generation = w.generation
		w.put(l, own)
		return
	}
	w.open--
	if w.stopsWaiting(own) {
		own.offers <- offer{err: err}
	} else {
		w.keepLate(err)
	}
	w.wakeOne()
}

func (w *Wire) give(l *link) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.put(l, nil)
}

func (w *Wire) drop(l *link) {
	l.close()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.busy, l)
	w.open--
	w.wakeOne()
}

// Gives a link to this call if it still waits, or to the first one, or to a later one. The mutex is
// held.
func (w *Wire) put(l *link, first *waiter) {
	delete(w.busy, l)
	isSpoilt := first == nil && len(w.waiting) > 0 && !l.isIdle() // popIdle looks at idle ones
	if w.isClosed || l.generation != w.generation || isSpoilt {
		l.close()
		w.open--
		if first != nil && w.stopsWaiting(first) {
			first.offers <- offer{err: &Lost{"connection", "the server was left"}}
		}
		w.wakeOne()
		return
	}
	if first == nil || !w.stopsWaiting(first) {
		if len(w.waiting) == 0 {
			w.idle = append(w.idle, l)
			return
		}
		first = w.waiting[0]
		w.stopsWaiting(first)
	}
	w.busy[l] = struct{}{}
	first.offers <- offer{link: l}
}

// A call that waits no longer hands on what it was offered meanwhile.
func (w *Wire) leave(own *waiter) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.stopsWaiting(own) {
		return
	}
	got := <-own.offers
	switch {
	case got.link != nil:
		w.put(got.link, nil)
	case got.err == nil:
		w.wakeOne()
	default:
		w.keepLate(got.err)
	}
}

// Keeps an error that connecting has ended with for a later call, unless it is an outage, which
// may be over by then. The mutex is held.
func (w *Wire) keepLate(err error) {
	_, isLost := err.(*Lost)
	refused, isRefused := err.(*Refused)
	isOutage := isLost || (isRefused && refused.Cause(false) != "")
	if !isOutage && !w.isClosed {
		w.late = err
	}
}

// The links that there are are closed, and Sentinels are asked again, if there are any.
func (w *Wire) leaveServer() {
	w.route.forget()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.generation++
	for _, l := range w.idle {
		l.close()
	}
	w.open -= len(w.idle)
	w.idle = nil
}

// Has one call look for a link once more, as there is room. The mutex is held.
func (w *Wire) wakeOne() {
	for _, each := range w.waiting {
		if !each.isConnecting {
			w.stopsWaiting(each)
			each.offers <- offer{}
			return
		}
	}
}

// Takes a call from those that wait. Returns whether it was among them.
func (w *Wire) stopsWaiting(own *waiter) bool {
	for i, each := range w.waiting {
		if each == own {
			w.waiting = append(w.waiting[:i:i], w.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func connectTime(deadline time.Duration) time.Duration {
	if deadline > ConnectTime {
		return deadline
	}
	return ConnectTime
}

func isLost(err error, cause string) bool {
	lost, ok := err.(*Lost)
	return ok && lost.Cause == cause
}
