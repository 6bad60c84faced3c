package weir

import (
	"context"
	"errors"
	"sync"
	"time"

	"weir/client/internal/words"
)

const (
	settledTime    = time.Minute // how long weir remembers at most that a hold is settled
	settlementsMax = 16          // the oldest one gives way
)

// A settlement is what was spent of the tokens of a hold.
type settlement struct {
	hold   string
	spent  int64
	end    time.Time // weir knows the hold until then, or that it is settled
	lapses bool      // it is of RL.SLICE
}

// Settlements are those of the slices of a Slice. One without an answer is kept, and repeated once
// a deadline, as long as the answer tells whether weir has settled it. Goroutines can share them.
type settlements struct {
	engine  *engine
	request *words.Request

	mutex sync.Mutex // guards all below
	kept  []settlement
	stop  func() // ends the repetitions; nil: there are none
}

// Settles, or keeps the settlement.
func (s *settlements) settle(ctx context.Context, one settlement) {
	if end := s.engine.clock().Add(settledTime); end.Before(one.end) {
		one.end = end
	}
	if !s.commit(ctx, one, holdTries) {
		s.keep(one)
	}
}

func (s *settlements) keep(all ...settlement) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kept = append(s.kept, all...)
	if excess := len(s.kept) - settlementsMax; excess > 0 {
		s.kept = s.kept[excess:]
	}
	switch {
	case len(s.kept) > 0 && s.stop == nil:
		s.stop = s.engine.every(s.engine.deadline, s.repeat)
	case len(s.kept) == 0 && s.stop != nil:
		s.stop()
		s.stop = nil
	}
}

func (s *settlements) repeat() {
	s.mutex.Lock()
	taken := s.kept
	s.kept = nil
	s.mutex.Unlock()
	var left []settlement
	for _, one := range taken {
		isInTime := s.engine.clock().Add(s.engine.deadline).Before(one.end)
		if isInTime && !s.commit(context.Background(), one, 1) {
			left = append(left, one)
		}
	}
	s.keep(left...)
}

// Returns whether no repetition is due: weir has answered, or has refused for good.
func (s *settlements) commit(ctx context.Context, one settlement, tries int) bool {
	committed := append(append([]string{"RL.COMMIT"}, s.request.Settled(one.spent)...),
		"HOLD", one.hold)
	had, err := s.ask(ctx, tries, committed)
	// Too late: of a slice nothing has come back, of a hold all.
	if err == nil && had == 0 && one.spent > 0 && !one.lapses {
		charged := append([]string{"RL.CHARGE"}, s.request.Charged(one.spent)...)
		_, err = s.ask(ctx, 1, charged)
		s.count(err)
		return true // it may have been charged
	}
	s.count(err)
	var away *Unavailable
	return !errors.As(err, &away)
}

// Returns the first number of the reply.
func (s *settlements) ask(ctx context.Context, tries int, given []string) (int64, error) {
	reply, err := s.engine.call(endless{ctx}, s.engine.usual(tries), given)
	if err != nil {
		return 0, err
	}
	return readFirst(reply)
}

func (s *settlements) count(err error) {
	var away *Unavailable
	switch {
	case errors.As(err, &away):
		s.engine.withoutAnswer(away.Cause)
	case err != nil:
		s.engine.counters.addMistake()
	}
}
