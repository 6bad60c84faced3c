// Package words has the words of a request, and the groups that AND divides them into.
package words

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const costPlace = "cost={}" // in a limit, the place of an estimate

// A Request is the words of a decision: keys with their limits, between them AND.
type Request struct {
	Words  []string
	Groups [][]string // a key, its limits, perhaps its COST
}

// New reads the words of a decision.
func New(words []string) (*Request, error) {
	groups := splitAtAnd(words)
	for i, group := range groups {
		if len(group) == 0 {
			return nil, fmt.Errorf("group %d of the request has no key", i+1)
		}
		if group[0] == "" {
			return nil, fmt.Errorf(
				"the key of group %d is empty: one bucket for all callers", i+1)
		}
	}
	return &Request{words, groups}, nil
}

// HasSeveralKeys returns whether a denial must say which key it is of.
func (r *Request) HasSeveralKeys() bool { return len(r.Groups) > 1 }

// Key returns the key of a group.
func (r *Request) Key(group int) string { return r.Groups[group][0] }

// IsShadow returns whether a limit of the group that has this label (name=) is a shadow.
func (r *Request) IsShadow(group int, label string) bool {
	if group < 0 || group >= len(r.Groups) {
		return false
	}
	for _, word := range r.Groups[group][1:] {
		isShadow, isNamed := false, false
		for _, option := range strings.Split(word, ",")[1:] {
			isShadow = isShadow || option == "shadow"
			isNamed = isNamed || option == "name="+label
		}
		if isShadow && isNamed {
			return true
		}
	}
	return false
}

// WithCost returns all words, with the cost in its places. A cost below 0 is none.
func (r *Request) WithCost(cost int64) ([]string, error) {
	groups := make([][]string, len(r.Groups))
	for i, group := range r.Groups {
		for _, word := range group {
			if cost < 0 && strings.Contains(word, costPlace) {
				return nil, errors.New("cost={} needs an estimate")
			}
			groups[i] = append(groups[i], put(word, cost))
		}
		groups[i][0] = group[0]
	}
	return join(groups), nil
}

// Costs returns the keys, each with those limits alone that have a place for the cost; without
// keysAlone only keys that have such a limit.
func (r *Request) Costs(cost int64, keysAlone bool) []string {
	var groups [][]string
	for _, group := range r.Groups {
		found := group[:1:1]
		for _, word := range group[1:] {
			if strings.Contains(word, costPlace) {
				found = append(found, put(word, cost))
			}
		}
		if keysAlone || len(found) > 1 {
			groups = append(groups, found)
		}
	}
	return join(groups)
}

// Charged returns all words, each group with this COST.
func (r *Request) Charged(tokens int64) []string {
	return r.each(func(group []string) []string { return withTokens(group, tokens) })
}

// Settled returns the keys, each with this COST for all of its limits.
func (r *Request) Settled(tokens int64) []string {
	return r.each(func(group []string) []string { return withTokens(group[:1], tokens) })
}

// Keys returns the keys alone.
func (r *Request) Keys() []string {
	return r.each(func(group []string) []string { return group[:1] })
}

func (r *Request) each(change func(group []string) []string) []string {
	groups := make([][]string, len(r.Groups))
	for i, group := range r.Groups {
		groups[i] = change(group)
	}
	return join(groups)
}

func withTokens(group []string, tokens int64) []string {
	return append(group[:len(group):len(group)], "COST", strconv.FormatInt(tokens, 10))
}

func put(word string, cost int64) string {
	return strings.ReplaceAll(word, costPlace, "cost="+strconv.FormatInt(cost, 10))
}

// A group begins with its key, which may be "AND", too.
func splitAtAnd(words []string) [][]string {
	groups := [][]string{nil}
	for _, word := range words {
		last := &groups[len(groups)-1]
		if len(*last) > 0 && strings.EqualFold(word, "AND") {
			groups = append(groups, nil)
		} else {
			*last = append(*last, word)
		}
	}
	return groups
}

func join(groups [][]string) []string {
	var words []string
	for i, group := range groups {
		if i > 0 {
			words = append(words, "AND")
		}
		words = append(words, group...)
	}
	return words
}
