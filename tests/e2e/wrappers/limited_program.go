// Calls clients/go as the lines of its standard input say (limited_test.py).
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"limited"
)

// A clock that stands still, and the heartbeats that are due when it is moved.
type clock struct {
	ms     int64 // atomic, as timers read it
	lateMs int64 // atomic; by which the next reading moves the clock, as if what follows took that
	beats  []*beat
}

type beat struct {
	due, period int64
	call        func()
}

func (c *clock) now() time.Time {
	late := atomic.SwapInt64(&c.lateMs, 0)
	return time.UnixMilli(atomic.AddInt64(&c.ms, late) - late)
}

func (c *clock) every(period time.Duration, call func()) func() {
	added := &beat{due: c.ms + period.Milliseconds(), period: period.Milliseconds(), call: call}
	c.beats = append(c.beats, added)
	return func() {
		for i, each := range c.beats {
			if each == added {
				c.beats = append(c.beats[:i], c.beats[i+1:]...)
				return
			}
		}
	}
}

func (c *clock) move(ms int64) {
	end := c.ms + ms
	for {
		sort.Slice(c.beats, func(i, j int) bool { return c.beats[i].due < c.beats[j].due })
		if len(c.beats) == 0 || c.beats[0].due > end {
			break
		}
		c.set(c.beats[0].due)
		c.beats[0].due += c.beats[0].period
		c.beats[0].call()
	}
	c.set(end)
}

// The clock does not go back.
func (c *clock) set(ms int64) {
	if ms > c.ms {
		atomic.StoreInt64(&c.ms, ms)
	}
}

type program struct {
	gate  *limited.Gate
	slice *limited.Slice
	hold  *limited.Hold
	lease *limited.Lease
	clock *clock
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return value
}

func milliseconds(word string) time.Duration {
	return time.Duration(number(word)) * time.Millisecond
}

func (p *program) open(port, down, deadlineMs string, timer bool) {
	if p.gate != nil {
		p.gate.Close()
	}
	p.clock = &clock{}
	options := limited.Options{
		Address:    "127.0.0.1:" + port,
		FailClosed: down == "closed",
		Deadline:   milliseconds(deadlineMs),
		Now:        p.clock.now,
	}
	if !timer {
		options.Every = p.clock.every
	}
	p.gate = limited.NewGate(options)
}

func (p *program) mail(to string, limits []string) (said string, err error) {
	err = p.gate.Limited(func() error {
		said = "to " + to
		return nil
	}, append([]string{"mail:" + to}, limits...)...)
	return said, err
}

func (p *program) reserve(words []string) (said string, err error) {
	estimate := int64(number(words[0]))
	p.hold, err = p.gate.Reserved(estimate, milliseconds(words[1]), words[2:]...)
	return "passes", err
}

func settled(is bool, err error) (string, error) {
	if is {
		return "settled", err
	}
	return "not settled", err
}

func (p *program) scope(how string, words []string) (said string, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			said = "failed"
		}
	}()
	hold, err := p.gate.Reserved(int64(number(words[0])), milliseconds(words[1]), words[2:]...)
	if err != nil {
		return "", err
	}
	defer hold.Cancel()
	if how == "fails" {
		panic(how)
	}
	if how == "settles" {
		_, err = hold.Settle(int64(number(words[0])))
	}
	return "left", err
}

func (p *program) lend(words []string) (said string, err error) {
	p.lease, err = p.gate.Lease(milliseconds(words[0]), words[1:]...)
	return "passes", err
}

func (p *program) leaseScope(words []string) (said string, err error) {
	slot, err := p.gate.Lease(milliseconds(words[0]), words[1:]...)
	if err != nil {
		return "", err
	}
	defer slot.Release()
	return "left", nil
}

func (p *program) flood(keys int) (string, error) {
	passed := 0
	for i := 0; i < keys; i++ {
		if p.gate.Check("flood:"+strconv.Itoa(i), "none") == nil {
			passed++
		}
	}
	return strconv.Itoa(passed), nil
}

func (p *program) crowd(threads, times int, words []string) (string, error) {
	var passed int64
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < times; i++ {
				ask := p.slice.Spend
				if len(words) > 0 {
					ask = func() error { return p.gate.Check(words...) }
				}
				if ask() == nil {
					atomic.AddInt64(&passed, 1)
				}
			}
		}()
	}
	group.Wait()
	return fmt.Sprint(passed), nil
}

func (p *program) call(name string, words []string) (string, error) {
	switch name {
	case "gate":
		p.open(words[0], words[1], words[2], len(words) > 3)
	case "clock":
		p.clock.move(int64(number(words[0])))
	case "beats":
		return strconv.Itoa(len(p.clock.beats)), nil
	case "delay":
		p.clock.lateMs = int64(number(words[0]))
	case "check":
		return "passes", p.gate.Check(words...)
	case "mail":
		return p.mail(words[0], words[1:])
	case "slice":
		p.slice = p.gate.Slice(number(words[0]), milliseconds(words[1]), words[2:]...)
	case "spend":
		return "passes", p.slice.Spend()
	case "give_back":
		p.slice.GiveBack()
	case "reserve":
		return p.reserve(words)
	case "settle":
		return settled(p.hold.Settle(int64(number(words[0]))))
	case "settle_or_charge":
		return settled(p.hold.SettleOrCharge(int64(number(words[0]))))
	case "cancel":
		p.hold.Cancel()
	case "scope":
		return p.scope(words[0], words[1:])
	case "lease":
		return p.lend(words)
	case "lost":
		if p.lease.Lost() {
			return "lost", nil
		}
		return "held", nil
	case "release":
		if p.lease.Release() {
			return "freed", nil
		}
		return "not held", nil
	case "lease_scope":
		return p.leaseScope(words)
	case "flood":
		return p.flood(number(words[0]))
	case "crowd":
		return p.crowd(number(words[0]), number(words[1]), words[2:])
	}
	return "ok", nil
}

func main() {
	p := &program{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		said, err := p.call(words[0], words[1:])
		var denied *limited.Error
		switch {
		case errors.As(err, &denied) && denied.RetryAfter > 0:
			said = fmt.Sprint("limited ", denied.Key, " ", denied.RetryAfter.Milliseconds())
		case denied != nil:
			said = fmt.Sprint("limited ", denied.Key, " -")
		case err != nil:
			said = fmt.Sprint("mistake ", err)
		}
		fmt.Println(said)
	}
}
