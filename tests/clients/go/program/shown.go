package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	weir "weir/client"
)

// What the caller of a Limiter sees, on one line.

func showDecision(d weir.Decision, err error) string {
	if err != nil {
		return showError(err)
	}
	if d.Reason == weir.ReasonUnavailable {
		choice := "denied"
		if d.Allowed {
			choice = "allowed"
		}
		return fmt.Sprintf("unavailable %s %s", d.Cause, choice)
	}
	if d.Allowed != (d.Reason == weir.ReasonAllowed) {
		return "a decision that contradicts itself"
	}
	line := fmt.Sprintf("%s %d %s %s %d", d.Reason, d.Remaining, showTime(d.RetryAfter),
		showTime(d.ResetAfter), d.Limit)
	for _, row := range d.Limits {
		allowed := 0
		if row.Allowed {
			allowed = 1
		}
		line += fmt.Sprintf(" | %s %d %d %d %s %s %d %d %d", row.Name, allowed, row.Count,
			row.Remaining, showTime(row.RetryAfter), showTime(row.ResetAfter), row.Group, row.Cost,
			row.Keep)
	}
	return line
}

func showError(err error) string {
	var limited *weir.Limited
	var mistake *weir.Mistake
	var away *weir.Unavailable
	switch {
	case errors.As(err, &limited):
		wait := showTime(limited.RetryAfter)
		return fmt.Sprintf("limited %s %s %s", limited.Key, wait, limited.Decision.Reason)
	case errors.As(err, &mistake):
		return "mistake " + mistake.Error()
	case errors.As(err, &away):
		return "raised " + away.Cause
	}
	return "error " + err.Error()
}

func showIf(err error, text string) string {
	if err != nil {
		return showError(err)
	}
	return text
}

func showTime(wait time.Duration) string {
	if wait == weir.None {
		return "-"
	}
	return strconv.FormatInt(wait.Milliseconds(), 10)
}

func showFields(d weir.Decision, err error) string {
	if err != nil {
		return showError(err)
	}
	var lines []string
	for _, field := range weir.Fields(d, true) {
		lines = append(lines, field.Name+": "+field.Value)
	}
	if !d.Allowed {
		status, body := weir.Problem(d)
		lines = append(lines, fmt.Sprintf("%d %s", status, body))
	}
	if lines == nil {
		return "none"
	}
	return strings.Join(lines, " | ")
}

func showCounts(counts weir.Counts) string {
	var shown []string
	show := func(name string, count int64) {
		if count > 0 {
			shown = append(shown, fmt.Sprintf("%s %d", name, count))
		}
	}
	show("asked", counts.Asked)
	show("allowed", counts.Allowed)
	show("denied", counts.Denied)
	show("kept", counts.Kept)
	show("mistakes", counts.Mistakes)
	for _, cause := range []string{"connection", "noack", "timeout"} {
		show(cause, counts.Unavailable[cause])
	}
	return strings.Join(shown, " ")
}
