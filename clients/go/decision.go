package weir

import (
	"fmt"
	"strings"
	"time"

	"weir/client/internal/words"
)

// None is the value of a number, or of a time, that a Decision does not have.
const None = -1

// A Reason says why a Decision is as it is.
type Reason string

// The reasons. ReasonNever: the limits never allow such a cost.
const (
	ReasonAllowed     Reason = "allowed"
	ReasonDenied      Reason = "denied"
	ReasonNever       Reason = "never"
	ReasonUnavailable Reason = "unavailable"
)

// A Decision is the answer to one call.
type Decision struct {
	Allowed    bool
	Remaining  int64         // tokens left, the fewest of any limit; None without an answer
	RetryAfter time.Duration // until the same call would pass; None: never, or not known
	ResetAfter time.Duration // until all buckets are full; None without an answer
	Limit      int           // the index of the limit that decided; None without an answer
	Reason     Reason

	// Cause is empty, unless weir is unavailable; then it is one of timeout, connection, loading,
	// readonly, noreplicas, noack, misconf, oom, busy, masterdown, clusterdown, full, login,
	// unblocked and noprimary.
	Cause string

	// Limits has a row for each limit, if there are several keys, or of a Detailed call.
	Limits []LimitRow

	granted int64         // the tokens that RL.TAKE or RL.SLICE took
	life    time.Duration // that RL.SLICE gave them; None: it was not asked
}

// A LimitRow is what one limit says.
type LimitRow struct {
	Name       string // its label, or its text
	Allowed    bool
	Count      int64
	Remaining  int64
	RetryAfter time.Duration // None: never
	ResetAfter time.Duration
	Group      int // which key, from 0
	Cost       int64
	Keep       int64
	IsShadow   bool // denies nothing; not known of a policy's labelled limits
}

// The Decision of a Limiter without an answer.
func unavailable(cause string, isAllowed bool) Decision {
	return Decision{
		Allowed: isAllowed, Remaining: None, RetryAfter: None, ResetAfter: None, Limit: None,
		Reason: ReasonUnavailable, Cause: cause, life: None,
	}
}

const (
	decisionNumbers = 5 // in a reply, before the rows
	rowValues       = 9
)

func readDecision(reply any, request *words.Request) (Decision, error) {
	values, _ := reply.([]any)
	numbers, ok := readNumbers(values, decisionNumbers)
	if !ok {
		return Decision{}, fmt.Errorf("weir: a reply is no decision: %v", reply)
	}
	d := Decision{
		Allowed: numbers[0] > 0, Remaining: numbers[1], RetryAfter: milliseconds(numbers[2]),
		ResetAfter: milliseconds(numbers[3]), Limit: int(numbers[4]), granted: numbers[0],
		life: None,
	}
	switch {
	case d.Allowed:
		d.Reason = ReasonAllowed
	case d.RetryAfter == None:
		d.Reason = ReasonNever
	default:
		d.Reason = ReasonDenied
	}
	if len(values) == decisionNumbers {
		return d, nil
	}
	rows, _ := values[decisionNumbers].([]any)
	for _, each := range rows {
		row, err := readRow(each, request)
		if err != nil {
			return Decision{}, err
		}
		d.Limits = append(d.Limits, row)
	}
	if len(d.Limits) > 0 && (d.Limit < 0 || d.Limit >= len(d.Limits)) {
		return Decision{}, fmt.Errorf("weir: a reply lacks the row of limit %d", d.Limit)
	}
	return d, nil
}

// Reads the reply to RL.SLICE, whose times are in microseconds and whose rows are left out.
func readSlice(reply any, request *words.Request) (Decision, error) {
	values, _ := reply.([]any)
	numbers, ok := readNumbers(values, decisionNumbers+1)
	if !ok {
		return Decision{}, fmt.Errorf("weir: a reply is no slice: %v", reply)
	}
	for i, us := range numbers[2:4] {
		if us > 0 {
			numbers[2+i] = (us-1)/1000 + 1
		}
	}
	d, err := readDecision([]any{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]}, request)
	d.life = time.Duration(numbers[5]) * time.Microsecond
	return d, err
}

func readRow(reply any, request *words.Request) (LimitRow, error) {
	values, _ := reply.([]any)
	if len(values) < rowValues {
		return LimitRow{}, &Mistake{"AND needs weir 0.2 or later"}
	}
	name, isText := values[0].(string)
	numbers, ok := readNumbers(values[1:], rowValues-1)
	if !isText || !ok {
		return LimitRow{}, fmt.Errorf("weir: a row of a reply is none: %v", reply)
	}
	group := int(numbers[5])
	if group < 0 || group >= len(request.Groups) {
		return LimitRow{}, fmt.Errorf("weir: a reply has a row of group %d", group)
	}
	return LimitRow{
		Name: name, Allowed: numbers[0] == 1, Count: numbers[1], Remaining: numbers[2],
		RetryAfter: milliseconds(numbers[3]), ResetAfter: milliseconds(numbers[4]), Group: group,
		Cost: numbers[6], Keep: numbers[7],
		IsShadow: isShadow(name) || request.IsShadow(group, name),
	}, nil
}

// Returns whether a limit's text says so.
func isShadow(text string) bool {
	for _, option := range strings.Split(text, ",")[1:] {
		if option == "shadow" {
			return true
		}
	}
	return false
}

// Returns the first number of a reply.
func readFirst(reply any) (int64, error) {
	values, _ := reply.([]any)
	numbers, ok := readNumbers(values, 1)
	if !ok {
		return 0, fmt.Errorf("weir: a reply has no number: %v", reply)
	}
	return numbers[0], nil
}

func readNumbers(values []any, count int) ([]int64, bool) {
	if len(values) < count {
		return nil, false
	}
	numbers := make([]int64, count)
	for i := range numbers {
		number, ok := values[i].(int64)
		if !ok {
			return nil, false
		}
		numbers[i] = number
	}
	return numbers, true
}

// Times below 0 are none.
func milliseconds(count int64) time.Duration {
	if count < 0 {
		return None
	}
	if count > int64(timeMax/time.Millisecond) {
		return timeMax
	}
	return time.Duration(count) * time.Millisecond
}

const timeMax time.Duration = 1<<63 - 1 // 292 years
