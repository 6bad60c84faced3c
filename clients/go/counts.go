package weir

import (
	"log"
	"sync"
	"time"
)

const logTime = time.Minute // between two lines of the log

// Counts are those of a Limiter since it was made.
type Counts struct {
	Asked       int64 // decisions: each is one of allowed, denied, unavailable or a mistake
	Allowed     int64
	Denied      int64
	Kept        int64            // decisions that a kept denial answered
	Mistakes    int64            // also words that were not sent, and panics of OnUnavailable
	Unavailable map[string]int64 // by cause
}

// Counters count, and tell the service that weir is unavailable.
type counters struct {
	onUnavailable func(cause string) // nil: the log is told
	failsOpen     bool

	mutex    sync.Mutex // guards all below
	counts   Counts
	logNext  time.Time // when the next line may be written
	logSince int64     // unavailable answers since the last one
}

func (c *counters) add(change func(*Counts)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	change(&c.counts)
}

func (c *counters) addKept()    { c.add(func(n *Counts) { n.Kept++ }) }
func (c *counters) addMistake() { c.add(func(n *Counts) { n.Mistakes++ }) }

func (c *counters) addMistakenAsk() {
	c.add(func(n *Counts) { n.Asked++; n.Mistakes++ })
}

func (c *counters) addDecision(isAllowed bool) {
	c.add(func(n *Counts) {
		n.Asked++
		if isAllowed {
			n.Allowed++
		} else {
			n.Denied++
		}
	})
}

// Counts an outage and tells it.
func (c *counters) addUnavailable(cause string, now time.Time) {
	c.add(func(n *Counts) {
		n.Asked++
		if n.Unavailable == nil {
			n.Unavailable = make(map[string]int64)
		}
		n.Unavailable[cause]++
	})
	if c.onUnavailable == nil {
		c.writeLog(cause, now)
		return
	}
	defer func() {
		if recover() != nil {
			c.addMistake()
		}
	}()
	c.onUnavailable(cause)
}

func (c *counters) copy() Counts {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	found := c.counts
	found.Unavailable = make(map[string]int64, len(c.counts.Unavailable))
	for cause, count := range c.counts.Unavailable {
		found.Unavailable[cause] = count
	}
	return found
}

func (c *counters) writeLog(cause string, now time.Time) {
	since, isDue := c.isLogDue(now)
	if !isDue {
		return
	}
	choice := "are not allowed"
	if c.failsOpen {
		choice = "are allowed"
	}
	log.Printf("weir is unavailable (%s): calls %s; %d since the last line",
		cause, choice, since)
}

// Returns the answers since the last line of the log, and whether the next one is due.
func (c *counters) isLogDue(now time.Time) (since int64, isDue bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.logSince++
	if now.Before(c.logNext) {
		return 0, false
	}
	since, c.logSince, c.logNext = c.logSince, 0, now.Add(logTime)
	return since, true
}
