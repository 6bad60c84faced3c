package weir

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	keptTimeMax    = time.Second
	keptDenialsMax = 10_000
)

// Denials that are kept: the same words are denied again without a request.
//
// A denial holds for the time that it names, and is kept for a second of it at most. So a key under
// attack costs one request per second and process, and what loosens a limit takes effect after a
// second. A denial without a time is kept for a second, too.
type denials struct {
	mutex sync.Mutex
	kept  map[string]denial // by words
}

type denial struct {
	end      time.Time
	asked    time.Time
	decision Decision
}

// Returns the Decision as it is now, if one is kept.
func (k *denials) find(name string, now time.Time) (Decision, bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	found, ok := k.kept[name]
	if !ok {
		return Decision{}, false
	}
	if !now.Before(found.end) {
		delete(k.kept, name)
		return Decision{}, false
	}
	age, d := now.Sub(found.asked), found.decision
	d.RetryAfter, d.ResetAfter = later(d.RetryAfter, age), later(d.ResetAfter, age)
	d.Limits = append([]LimitRow(nil), d.Limits...) // the caller's own
	return d, true
}

// Keeps a denial that was asked for at `now`. Forgets all if there are too many.
func (k *denials) keep(name string, now time.Time, d Decision) {
	kept := keptTimeMax
	if d.RetryAfter != None && d.RetryAfter < kept {
		kept = d.RetryAfter
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.kept == nil || len(k.kept) >= keptDenialsMax {
		k.kept = make(map[string]denial)
	}
	d.Limits = append([]LimitRow(nil), d.Limits...)
	k.kept[name] = denial{now.Add(kept), now, d}
}

// The name under which a denial of these words is kept.
func nameOf(words []string, hasRows bool) string {
	var name strings.Builder
	for _, word := range words {
		name.WriteString(strconv.Itoa(len(word)))
		name.WriteByte(':')
		name.WriteString(word)
	}
	if hasRows {
		name.WriteByte('+')
	}
	return name.String()
}

func later(wait, age time.Duration) time.Duration {
	switch {
	case wait == None:
		return None
	case wait < age:
		return 0
	}
	return wait - age
}
