package weir

import (
	"context"
	"errors"
	"strconv"
	"time"

	"weir/client/internal/words"
)

// The hold outlives its time by two deadlines for the last request, and two for the commit.
const deadlinesBeyond = 4

// A Slice has tokens that are taken at once, as a hold, and spent one by one, for a key that is
// asked too often to ask weir each time. Goroutines share it: one asks weir for more while the
// others wait, for a deadline at most.
//
// What is left at the end comes back with the commit of what was spent. If the process dies, all of
// the slice comes back although some of it may have been spent: so a process that dies again and
// again may admit a slice more each time. A commit without an answer is repeated while the hold
// lives; one that comes too late is followed by a charge of what was spent.
type Slice struct {
	engine  *engine
	request *words.Request
	size    string
	lasts   time.Duration
	ttl     time.Duration

	settlements settlements

	turn   chan struct{} // filled by the goroutine that uses the fields below
	hold   string        // the id of the present one; empty: none
	number int           // of slices taken
	end    time.Time
	lives  time.Time // the end of the hold
	left   int64
	spent  int64
	stop   func() // ends the timer; nil: there is none
}

// Slice returns a Slice of up to `size` tokens of these limits, which must not say cost=. They are
// to be spent within `lasts`.
func (l *Limiter) Slice(size int, lasts time.Duration, words ...string) (*Slice, error) {
	request, err := l.engine.request(append([]string(nil), words...)) // kept beyond the call
	if err != nil {
		return nil, err
	}
	if size < 1 || lasts < time.Millisecond {
		l.engine.counters.addMistake()
		return nil, &Mistake{"a slice has a token and lasts a millisecond at least"}
	}
	return &Slice{
		engine: l.engine, request: request, size: strconv.Itoa(size), lasts: lasts,
		ttl:         lasts + deadlinesBeyond*l.engine.deadline,
		settlements: settlements{engine: l.engine, request: request},
		turn:        make(chan struct{}, 1),
	}, nil
}

// Spend spends a token, or returns *Limited. It may take four deadlines: to wait for another
// goroutine, to settle the last slice, which is tried twice, and to take the next one.
func (s *Slice) Spend(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	late := time.NewTimer(s.engine.deadline)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-late.C:
		return s.check(s.engine.withoutAnswer("timeout"))
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err()
		}
		return s.check(s.engine.withoutAnswer("timeout"))
	}
	if s.left == 0 || !s.engine.clock().Before(s.end) {
		s.giveBack(ctx)
		if err := s.take(ctx); err != nil {
			return err
		}
	}
	if s.hold != "" {
		s.left--
		s.spent++
	}
	return nil
}

// GiveBack settles the slice, so that what is left comes back. Call it before the program ends.
func (s *Slice) GiveBack(ctx context.Context) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.giveBack(ctx)
}

func (s *Slice) giveBack(ctx context.Context) {
	s.stopTimer()
	if s.hold == "" {
		return
	}
	settled := settlement{s.hold, s.spent, s.lives}
	s.hold, s.left, s.spent = "", 0, 0
	s.settlements.settle(ctx, settled)
}

// Takes the next slice, or returns *Limited.
func (s *Slice) take(ctx context.Context) error {
	begin := s.engine.clock()
	hold, err := newHoldID()
	if err != nil {
		return err
	}
	d, err := s.engine.decideOrKeep(ctx, "RL.TAKE", s.request, false,
		"UPTO", s.size, "HOLD", hold, "TTL", inMilliseconds(s.ttl))
	if err != nil {
		return err
	}
	if err := s.check(d); err != nil {
		return err
	}
	if d.Reason == ReasonAllowed {
		s.hold, s.left = hold, d.granted
		s.end, s.lives = begin.Add(s.lasts), begin.Add(s.ttl)
		s.number++
		s.startTimer(s.number)
	}
	return nil
}

func (s *Slice) check(d Decision) error {
	if !d.Allowed {
		return limited(d, s.request)
	}
	return nil
}

func (s *Slice) startTimer(number int) {
	s.stop = s.engine.every(s.lasts, func() {
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		if s.number == number { // else the tokens are newer ones
			s.giveBack(context.Background())
		}
	})
}

func (s *Slice) stopTimer() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
