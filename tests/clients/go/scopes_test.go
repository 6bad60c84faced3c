package tests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	weir "weir/client"
)

// Goal: what no hold can be settled with is a mistake, and the hold is cancelled after it.
func TestASettlementThatIsAMistake(t *testing.T) {
	l := patient(t, start(t).url(""))
	limit := "1000/" + never + ",fixed"
	held, err := l.Reserve(background, time.Minute, 600, "k", limit+",cost={}")
	check(t, err)
	_, err = held.Settle(background, -1)
	isMistake(t, err, "0 or more")
	_, err = held.SettleOrCharge(background, -1)
	isMistake(t, err, "0 or more")
	equal(t, held.IsOpen(), true)
	held.Cancel(background)
	d, err := l.Peek(background, "k", limit, "COST", "0")
	check(t, err)
	equal(t, d.Remaining, 1000)
	_, err = l.Reserve(background, time.Minute, -2, "k", limit)
	isMistake(t, err, "NoEstimate")
}

func TestTheTimeoutOfAWait(t *testing.T) {
	l := patient(t, start(t).url(""))
	for _, timeout := range []time.Duration{-1, -time.Hour, 1<<63 - 1} {
		_, err := l.Wait(background, timeout, "k", "1/s")
		isMistake(t, err, "timeout of a wait")
	}
	equal(t, l.Counts().Mistakes, 3)
	equal(t, allow(t, l, "k", "1/s").Allowed, true)
}

// Goal: a reply that says nothing of a hold leaves it open.
func TestAnOddReplyToASettlement(t *testing.T) {
	l := patient(t, "redis://"+startScripted(t, func(request string) string {
		if strings.HasPrefix(request, "RL.COMMIT") {
			return "+OK\r\n"
		}
		return admitted
	}))
	held, err := l.Reserve(background, time.Minute, 6, "k", "9/m,cost={}")
	check(t, err)
	settled, err := held.SettleOrCharge(background, 4)
	equal(t, err != nil, true)
	equal(t, fmt.Sprint(settled, held.IsOpen()), "false true")
}

func TestASliceIsNotSpentByACallThatIsCancelled(t *testing.T) {
	l := patient(t, start(t, "--slice-life", "60s").url(""))
	part, err := l.Slice(100, time.Minute, "k", "1000/"+never+",fixed")
	check(t, err)
	check(t, part.Spend(background))
	ended, cancel := context.WithCancel(background)
	cancel()
	for i := 0; i < 50; i++ {
		equal(t, errors.Is(part.Spend(ended), context.Canceled), true)
	}
	part.GiveBack(background)
	d, err := l.Peek(background, "k", "1000/"+never+",fixed", "COST", "0")
	check(t, err)
	equal(t, d.Remaining, 999)
}

// The time, the timers, and the requests of a slice whose server answers RL.COMMIT as told.
type sliced struct {
	mutex    sync.Mutex
	now      time.Time
	timers   map[int]func()
	made     int
	requests []string // their first words
	replies  []string // to RL.COMMIT
}

func (s *sliced) clock() time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.now
}

func (s *sliced) every(_ time.Duration, call func()) func() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	number := s.made
	s.made++
	s.timers[number] = call
	return func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.timers, number)
	}
}

// Moves the clock, and lets all timers be due.
func (s *sliced) move(by time.Duration) {
	s.mutex.Lock()
	s.now = s.now.Add(by)
	due := make([]func(), 0, len(s.timers))
	for _, call := range s.timers {
		due = append(due, call)
	}
	s.mutex.Unlock()
	for _, call := range due {
		call()
	}
}

func (s *sliced) answer(request string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name, _, _ := strings.Cut(request, " ")
	s.requests = append(s.requests, strings.TrimPrefix(name, "RL."))
	if name == "RL.COMMIT" && len(s.replies) > 0 {
		reply := s.replies[0]
		s.replies = s.replies[1:]
		return reply
	}
	if name == "RL.SLICE" {
		return "*8\r\n:3\r\n:6\r\n:0\r\n:900\r\n:0\r\n:60000000\r\n:7\r\n*0\r\n"
	}
	rows := strings.Repeat("*9\r\n$3\r\n9/h\r\n:1\r\n:9\r\n:6\r\n:0\r\n:900\r\n:0\r\n:1\r\n:0\r\n", 2)
	return "*6\r\n:3\r\n:6\r\n:0\r\n:900\r\n:0\r\n*2\r\n" + rows
}

func (s *sliced) asked() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := strings.Join(s.requests, " ")
	s.requests = nil
	return asked
}

func (s *sliced) count() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.timers)
}

const (
	oneKey      = "k 9/h"
	severalKeys = "k 9/h AND l 9/h"
)

// Returns a slice of a minute, one of whose tokens is spent, and given back in vain. With several
// keys it is a hold.
func giveBackInVain(
	t *testing.T, keys string, replies ...string,
) (*sliced, *weir.Slice, *weir.Limiter) {
	t.Helper()
	s := &sliced{now: time.Unix(0, 0), timers: map[int]func(){}}
	s.replies = append([]string{"lost", "lost"}, replies...)
	l := limiter(t, "redis://"+startScripted(t, s.answer), silent, weir.FailClosed(),
		weir.Clock(s.clock), weir.Timer(s.every), weir.Deadline(5*time.Second))
	part, err := l.Slice(3, time.Minute, strings.Split(keys, " ")...)
	check(t, err)
	check(t, part.Spend(background))
	part.GiveBack(background)
	taken := "SLICE"
	if keys == severalKeys {
		taken = "TAKE"
	}
	equal(t, s.asked(), taken+" COMMIT COMMIT")
	equal(t, s.count(), 1)
	return s, part, l
}

// Goal: a commit without an answer is repeated until there is one, beside the slices that follow.
func TestACommitIsRepeatedUntilItIsAnswered(t *testing.T) {
	s, part, _ := giveBackInVain(t, oneKey, "lost", "-MISCONF no\r\n", admitted)
	check(t, part.Spend(background))
	equal(t, s.asked(), "SLICE")
	for _, wanted := range []string{"COMMIT", "COMMIT", "COMMIT"} {
		equal(t, s.count(), 2)
		s.repeat(t)
		equal(t, s.asked(), wanted)
	}
	equal(t, s.count(), 1)
}

// Lets the timer of the commits be due: the first one was that of the slice.
func (s *sliced) repeat(t *testing.T) {
	t.Helper()
	s.mutex.Lock()
	call := s.timers[1]
	s.mutex.Unlock()
	equal(t, call != nil, true)
	call()
}

// Goal: what was spent of a hold is charged if a repeated commit comes too late, once; that of a
// slice is not.
func TestARepeatedCommitThatComesTooLate(t *testing.T) {
	const tooLate = "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"
	s, _, _ := giveBackInVain(t, oneKey, "lost", tooLate)
	s.move(5 * time.Second)
	s.move(5 * time.Second)
	equal(t, s.asked()+fmt.Sprint(s.count()), "COMMIT COMMIT0")
	s, _, l := giveBackInVain(t, severalKeys, "lost", tooLate)
	s.move(5 * time.Second)
	equal(t, s.asked(), "COMMIT")
	s.move(5 * time.Second)
	equal(t, s.asked(), "COMMIT CHARGE")
	equal(t, s.count(), 0)
	equal(t, l.Counts().Unavailable["connection"], 2)
}

// Goal: a commit is not repeated when a 0 could mean that weir has forgotten that it has settled,
// nor after a mistake, nor with a Limiter that is closed.
func TestACommitThatIsRepeatedNoLonger(t *testing.T) {
	s, _, _ := giveBackInVain(t, oneKey)
	s.move(time.Minute)
	equal(t, s.asked()+fmt.Sprint(s.count()), "0")
	s, _, l := giveBackInVain(t, oneKey, "-ERR no\r\n")
	s.move(time.Second)
	equal(t, s.asked()+fmt.Sprint(s.count()), "COMMIT0")
	equal(t, l.Counts().Mistakes, 1)
	s, _, l = giveBackInVain(t, severalKeys)
	check(t, l.Close())
	s.move(time.Second)
	equal(t, s.asked()+fmt.Sprint(s.count()), "0")
}
