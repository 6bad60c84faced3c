package limited

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	holdTries = 2
	holdPlace = "cost={}" // in a word, the estimate's place
)

// A Hold is a reservation of what an action will use, as estimated, that is settled with what it
// did use. It is for one goroutine at a time.
//
//	hold, err := gate.Reserved(1500, 2*time.Minute, "team:7", "5,held", "100k/m,cost={}")
//	if err != nil { ... }                  // as of Check
//	defer hold.Cancel()                    // if it has not been settled
//	_, err = hold.Settle(callModel())      // frees the slot, charges 812 tokens and not 1500
//
// Each `cost={}` is the estimate's place; the other limits are charged as they stand. A cancelled
// hold gives all of it back at once; so does the end of the time to live, here two minutes, if the
// program dies.
//
// A request whose reply is lost is sent once more. It has the same id, a random one, so it is
// charged once. A Gate that fails open runs the action while weir is away; then there is no hold,
// and Settle does nothing. A denial is not kept, as a slot may be free at any time.
type Hold struct {
	gate   *Gate
	groups [][]string
	words  []string
	hold   []string
	ttl    []string

	isOpen     bool // weir may have the hold, not settled
	isSettled  bool
	hasSettled bool // has tried to
}

// Reserved returns a Hold of these words of RL.RESERVE, or an Error.
func (g *Gate) Reserved(estimate int64, ttl time.Duration, words ...string) (*Hold, error) {
	h, err := g.newHold(estimate, ttl, words)
	if err == nil {
		err = h.reserve()
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Settle charges what was used in place of the estimate. It returns whether that is so. It is not
// if there is no hold, if it has expired, or if weir does not answer; only then can it be repeated.
func (h *Hold) Settle(used int64) (bool, error) {
	if !h.isOpen {
		return h.isSettled, nil
	}
	h.hasSettled = true
	var err error
	h.isSettled, err = h.end("RL.COMMIT", withCost(h.groups, used, false))
	return h.isSettled, err
}

// SettleOrCharge settles; if the hold has expired, it charges what was used. It returns whether it
// is settled. A hold that expires gives back all that it reserved. So a budget that must not be
// undercounted wants this, and one that must not be overdrawn wants Settle.
func (h *Hold) SettleOrCharge(used int64) (bool, error) {
	wasOpen := h.isOpen
	settled, err := h.Settle(used)
	if settled || err != nil || !wasOpen || h.isOpen {
		return settled, err
	}
	var charge [][]string
	for _, group := range withCost(h.groups, used, false) {
		if len(group) > 1 {
			charge = append(charge, group)
		}
	}
	if len(charge) > 0 {
		_, err = h.gate.call(1, "RL.CHARGE", joinWithAnd(charge))
	}
	return false, unlessNoAnswer(err) // it may have been charged, so it is not repeated
}

// Cancel gives all of it back, unless it has been settled.
func (h *Hold) Cancel() {
	if !h.isOpen || h.hasSettled {
		return
	}
	var keys [][]string
	for _, group := range h.groups {
		keys = append(keys, group[:1])
	}
	_, _ = h.end("RL.CANCEL", keys) // else it expires
}

func (g *Gate) newHold(estimate int64, ttl time.Duration, words []string) (*Hold, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	groups := splitAtAnd(words)
	return &Hold{
		gate:   g,
		groups: groups,
		words:  joinWithAnd(withCost(groups, estimate, true)),
		hold:   []string{"HOLD", hex.EncodeToString(id)},
		ttl:    []string{"TTL", strconv.FormatInt(ttl.Milliseconds(), 10)},
	}, nil
}

// Reserves, or returns an Error; without an answer, as the gate was told.
func (h *Hold) reserve() error {
	err := h.ask()
	if errors.Is(err, errNoAnswer) {
		return h.gate.noAnswer(h.words)
	}
	h.isOpen = err == nil
	return err
}

// Reserves, or renews the time to live of what is reserved; or returns an Error or errNoAnswer.
func (h *Hold) ask() error {
	options := append(h.hold[:len(h.hold):len(h.hold)], h.ttl...)
	_, err := h.gate.decide(holdTries, "RL.RESERVE", h.words, options...)
	return err
}

// Ends the hold. Returns whether weir had it.
func (h *Hold) end(command string, groups [][]string) (bool, error) {
	reply, err := h.gate.call(holdTries, command, append(joinWithAnd(groups), h.hold...))
	if err != nil {
		return false, unlessNoAnswer(err)
	}
	h.isOpen = false
	return len(reply) > 0 && reply[0] == int64(1), nil
}

// The groups with the cost in its place; unless all is wanted, without the limits that have none.
func withCost(groups [][]string, cost int64, all bool) [][]string {
	var costed [][]string
	for _, group := range groups {
		var words []string
		for i, word := range group {
			switch {
			case i > 0 && strings.Contains(word, holdPlace):
				word = strings.Replace(word, holdPlace, fmt.Sprint("cost=", cost), 1)
				words = append(words, word)
			case i == 0 || all:
				words = append(words, word)
			}
		}
		costed = append(costed, words)
	}
	return costed
}

func unlessNoAnswer(err error) error {
	if errors.Is(err, errNoAnswer) {
		return nil
	}
	return err
}
