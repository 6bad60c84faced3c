package main

import (
	"sync"
	"time"
)

// A clock that stands still, and the timers that are due when it is moved.
type clock struct {
	mutex  sync.Mutex
	now    time.Time
	late   time.Duration
	timers []*timer
}

type timer struct {
	due    time.Time
	period time.Duration
	call   func()
}

func newClock() *clock { return &clock{now: time.Unix(0, 0)} }

func (c *clock) read() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.now
	c.now, c.late = now.Add(c.late), 0
	return now
}

// The next reading moves the clock, as if what is done after it took a while.
func (c *clock) delay(late time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.late = late
}

func (c *clock) every(period time.Duration, call func()) func() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	t := &timer{c.now.Add(period), period, call}
	c.timers = append(c.timers, t)
	return func() { c.stop(t) }
}

func (c *clock) stop(t *timer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, each := range c.timers {
		if each == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

func (c *clock) beats() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.timers)
}

func (c *clock) move(by time.Duration) {
	c.mutex.Lock()
	end := c.now.Add(by)
	c.mutex.Unlock()
	for next := c.nextDue(end); next != nil; next = c.nextDue(end) {
		next.call()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.now.Before(end) {
		c.now = end
	}
}

// The first timer that is due, at whose time the clock is then.
func (c *clock) nextDue(end time.Time) *timer {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var next *timer
	for _, each := range c.timers {
		if !each.due.After(end) && (next == nil || each.due.Before(next.due)) {
			next = each
		}
	}
	if next != nil {
		if c.now.Before(next.due) {
			c.now = next.due
		}
		next.due = next.due.Add(next.period)
	}
	return next
}
