package limited

import (
	"strconv"
	"time"
)

// A Slice has tokens that are taken at once, spent one by one, and given back when their time is
// over. It is for a key that is asked too often to ask weir each time. The time should be short:
// until its end other processes lack the tokens that are left, and time refills a bucket from which
// they were taken. A slice whose reply is lost is not given back, as it may not have been taken.
type Slice struct {
	gate  *Gate
	size  int
	lasts time.Duration
	words []string

	turn  chan struct{} // filled by the goroutine that uses the fields below; others await its tokens
	left  int64
	end   time.Time
	timer *time.Timer
}

// Slice returns a Slice of these limits, which must not have costs.
func (g *Gate) Slice(size int, lasts time.Duration, words ...string) *Slice {
	return &Slice{gate: g, size: size, lasts: lasts, words: words, turn: make(chan struct{}, 1)}
}

// Spend spends a token, or returns an Error.
func (s *Slice) Spend() error {
	late := time.NewTimer(s.gate.options.Deadline)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-late.C:
		return s.gate.noAnswer(s.words)
	}
	now := s.gate.options.Now()
	if !now.Before(s.end) {
		s.refund()
	}
	if s.left == 0 {
		granted, err := s.gate.ask("RL.TAKE", s.words, "UPTO", strconv.Itoa(s.size))
		if granted == 0 {
			return err
		}
		s.left = granted
		s.end = now.Add(s.lasts)
		s.startTimer()
	}
	s.left--
	return nil
}

// GiveBack gives back what is left; call it before the program ends.
func (s *Slice) GiveBack() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.refund()
}

func (s *Slice) refund() {
	tokens := s.left
	s.left = 0
	if tokens > 0 {
		s.gate.refund(s.words, tokens)
	}
}

func (s *Slice) startTimer() {
	if s.timer != nil {
		s.timer.Stop()
	}
	end := s.end
	s.timer = time.AfterFunc(s.lasts, func() {
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
		if s.end == end { // else the tokens are newer ones
			s.refund()
		}
	})
}
