package weir

import (
	"context"
	"errors"
	"strconv"
	"time"

	"weir/client/internal/words"
)

const (
	// The hold of RL.TAKE outlives its time by two deadlines for the last request, and two for the
	// commit.
	deadlinesBeyond = 4

	otherwiseTime = 10 * time.Second // so long is asked otherwise where there are no slices
	lifeMargin    = time.Millisecond // and a thousandth: clocks drift
)

// A Slice has tokens that are taken at once and spent one by one without asking, for a key that is
// asked too often to ask weir each time. Goroutines share it: one asks weir for more while the
// others wait, for a deadline at most.
//
// RL.SLICE says how many tokens there are and how long they may be spent. What is left then comes
// back with the commit of what was spent. A slice that is not committed counts as spent, so a
// process that dies admits nothing twice. Where weir gives no slices of these limits, or a slice
// comes later than its life, each token is asked for.
//
// Several keys (AND), and a weir that does not know RL.SLICE, have RL.TAKE with a hold instead.
// That comes back at its end: so a process that dies again and again may admit a slice more each
// time. A commit that comes too late is followed by a charge of what was spent then.
//
// A commit without an answer is repeated while the slice lives.
type Slice struct {
	engine  *engine
	request *words.Request
	size    string
	lasts   time.Duration
	ttl     time.Duration

	settlements settlements

	turn           chan struct{} // filled by the goroutine that uses the fields below
	otherwise      string        // the command that is asked in place of RL.SLICE; empty: none
	otherwiseUntil time.Time

	hold   string // the id of the present one; empty: none
	lapses bool   // else it comes back
	number int    // of slices taken
	end    time.Time
	lives  time.Time // the end of the hold
	left   int64
	spent  int64
	stop   func() // ends the timer; nil: there is none
}

// Slice returns a Slice of up to `size` tokens of these limits, as many as weir can spare, to be
// spent within `lasts`, or less. The limits of several keys must not say cost=.
func (l *Limiter) Slice(size int, lasts time.Duration, words ...string) (*Slice, error) {
	request, err := l.engine.request(append([]string(nil), words...)) // kept beyond the call
	if err != nil {
		return nil, err
	}
	if size < 1 || lasts < time.Millisecond {
		l.engine.counters.addMistake()
		return nil, &Mistake{"a slice has a token and lasts a millisecond at least"}
	}
	s := &Slice{
		engine: l.engine, request: request, size: strconv.Itoa(size), lasts: lasts,
		ttl:         lasts + deadlinesBeyond*l.engine.deadline,
		settlements: settlements{engine: l.engine, request: request},
		turn:        make(chan struct{}, 1),
	}
	if request.HasSeveralKeys() {
		s.otherwise = "RL.TAKE"
	}
	return s, nil
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
	before := s.number
	if s.left == 0 || !s.engine.clock().Before(s.end) {
		s.giveBack(ctx)
		if err := s.ask(ctx); err != nil {
			return err
		}
	}
	if s.hold != "" {
		s.left--
		s.spent++
	}
	if s.number != before {
		s.begin()
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
	if settled, isDue := s.endPresent(); isDue {
		s.settlements.settle(ctx, settled)
	}
}

// Returns what was spent of the present slice, and whether that is to be settled.
func (s *Slice) endPresent() (settlement, bool) {
	settled := settlement{s.hold, s.spent, s.lives, s.lapses}
	isAllSpent := s.lapses && s.left == 0 // it counts as spent anyway
	s.hold, s.left, s.spent = "", 0, 0
	return settled, settled.hold != "" && !isAllSpent
}

// Takes the next slice or, where there is none, asks for a token. Returns *Limited if it is denied.
func (s *Slice) ask(ctx context.Context) error {
	begin := s.engine.clock()
	if !s.otherwiseUntil.IsZero() && !begin.Before(s.otherwiseUntil) {
		s.otherwise, s.otherwiseUntil = "", time.Time{}
	}
	if s.otherwise == "RL.ALLOW" {
		d, err := s.engine.decideOrKeep(ctx, s.otherwise, s.request, false)
		if err != nil {
			return err
		}
		return s.check(d)
	}
	hold, err := newHoldID()
	if err != nil {
		return err
	}
	if s.otherwise == "RL.TAKE" {
		return s.take(ctx, begin, hold)
	}
	d, err := s.engine.decideOrKeep(ctx, sliceCommand, s.request, false, "NEED", "1", "UNIT", "1",
		"UPTO", s.size, "HOLD", hold, "TTL", inMilliseconds(s.lasts))
	var mistake *Mistake
	if errors.As(err, &mistake) && mistake.isUnknownCommand() {
		s.askOtherwise("RL.TAKE", begin)
		return s.take(ctx, begin, hold)
	}
	if err != nil {
		return err
	}
	if d.life == 0 {
		s.askOtherwise("RL.ALLOW", begin)
	}
	if err := s.check(d); err != nil {
		return err
	}
	if d.Reason == ReasonAllowed && d.life > 0 {
		s.number++
		s.hold, s.left, s.lapses = hold, d.granted, true
		margin := (d.life / 1000).Truncate(time.Microsecond) + lifeMargin
		s.end, s.lives = begin.Add(d.life-margin), begin.Add(d.life)
		if !s.engine.clock().Before(s.end) {
			s.askOtherwise("RL.ALLOW", begin) // it came late, and so would the next ones
		}
	}
	return nil
}

func (s *Slice) askOtherwise(command string, begin time.Time) {
	s.otherwise, s.otherwiseUntil = command, begin.Add(otherwiseTime)
}

// Takes the next slice by RL.TAKE, or returns *Limited.
func (s *Slice) take(ctx context.Context, begin time.Time, hold string) error {
	d, err := s.engine.decideOrKeep(ctx, "RL.TAKE", s.request, false,
		"UPTO", s.size, "HOLD", hold, "TTL", inMilliseconds(s.ttl))
	if err != nil {
		return err
	}
	if err := s.check(d); err != nil {
		return err
	}
	if d.Reason == ReasonAllowed {
		s.number++
		s.hold, s.left, s.lapses = hold, d.granted, false
		s.end, s.lives = begin.Add(s.lasts), begin.Add(s.ttl)
	}
	return nil
}

// Begins the slice that was taken, of which the first token is spent: that is weir's word. Of one
// that came late nothing else is spent, and the caller does not wait for its settlement.
func (s *Slice) begin() {
	if left := s.end.Sub(s.engine.clock()); left > 0 {
		s.startTimer(s.number, left)
	} else if settled, isDue := s.endPresent(); isDue {
		go s.settlements.settle(context.Background(), settled)
	}
}

func (s *Slice) check(d Decision) error {
	if !d.Allowed {
		return limited(d, s.request)
	}
	return nil
}

func (s *Slice) startTimer(number int, left time.Duration) {
	s.stop = s.engine.every(left, func() {
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
