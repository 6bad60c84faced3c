package weir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ProblemType is the media type of the body that Problem returns.
const ProblemType = "application/problem+json"

const (
	itemsMax      = 8
	numberMax     = 999_999_999_999_999 // an Integer of RFC 9651 has at most 15 digits
	quotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"
)

// A Field is a field of an HTTP response.
type Field struct{ Name, Value string }

// Fields returns the HTTP fields that tell a caller of its limits, as weir's own /check writes
// them; none if weir is unavailable. With legacy there are X-RateLimit-Limit, -Remaining and
// -Reset, too.
//
//	RateLimit-Policy: "burst";q=40
//	RateLimit: "burst";r=0;t=1
//	Retry-After: 1
//
// The first two have the form of draft-ietf-httpapi-ratelimit-headers-11, which is not settled: it
// is in this file only. A denial lists in RateLimit the limits that denied, with the time to wait
// for `t`. A row does not say whether its limit is a bucket or a window, so an admission has no
// `t`, and a policy no `w`. Shadow limits are never listed, and at most 8 limits are.
func Fields(d Decision, legacy bool) []Field {
	if d.Reason == ReasonUnavailable {
		return nil
	}
	var fields []Field
	rows := listed(d)
	if len(rows) > 0 {
		policies := make([]string, len(rows))
		for i, row := range rows {
			policies[i] = fmt.Sprintf("%s;q=%d", quoted(row.Name), row.Count)
		}
		fields = append(fields, Field{"RateLimit-Policy", strings.Join(policies, ", ")})
	}
	if limits := limitItems(d, rows); len(limits) > 0 {
		fields = append(fields, Field{"RateLimit", strings.Join(limits, ", ")})
	}
	if legacy && len(rows) > 0 {
		fields = append(fields,
			Field{"X-RateLimit-Limit", strconv.FormatInt(rows[0].Count, 10)},
			Field{"X-RateLimit-Remaining", strconv.FormatInt(remaining(rows[0]), 10)},
			Field{"X-RateLimit-Reset", strconv.FormatInt(seconds(rows[0].ResetAfter), 10)})
	}
	if d.Reason == ReasonDenied {
		wait := seconds(d.RetryAfter)
		if wait < 1 {
			wait = 1
		}
		fields = append(fields, Field{"Retry-After", strconv.FormatInt(wait, 10)})
	}
	return fields
}

// Problem returns the status and the body (RFC 9457) for a call that is not allowed: 429, or 503 if
// weir is unavailable.
func Problem(d Decision) (status int, body []byte) {
	var problem struct {
		Type     string   `json:"type,omitempty"`
		Title    string   `json:"title"`
		Violated []string `json:"violated-policies,omitempty"`
	}
	status = http.StatusTooManyRequests
	if d.Reason == ReasonUnavailable {
		status = http.StatusServiceUnavailable
		problem.Title = "Service Unavailable"
	} else {
		problem.Type = quotaExceeded
		problem.Title = "Request cannot be satisfied as assigned quota has been exceeded"
		for _, row := range listed(d) {
			if !row.Allowed {
				problem.Violated = append(problem.Violated, row.Name)
			}
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(problem) // of strings alone
	return status, bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// The rows that a caller is told of, first the one that decided.
func listed(d Decision) []LimitRow {
	type named struct {
		group int
		name  string
	}
	seen := map[named]bool{}
	var found []LimitRow
	add := func(row LimitRow) {
		name := named{row.Group, row.Name}
		if !row.IsShadow && row.Count <= numberMax && !seen[name] && len(found) < itemsMax {
			seen[name] = true
			found = append(found, row)
		}
	}
	if len(d.Limits) > 0 {
		add(d.Limits[d.Limit])
	}
	for _, row := range d.Limits {
		add(row)
	}
	return found
}

func limitItems(d Decision, rows []LimitRow) []string {
	if len(d.Limits) == 0 {
		return []string{item("limit", d.Remaining, d.RetryAfter, d.Allowed)}
	}
	var items []string
	for _, row := range rows {
		if d.Allowed || !row.Allowed {
			items = append(items, item(row.Name, remaining(row), row.RetryAfter, row.Allowed))
		}
	}
	return items
}

func item(name string, remaining int64, retryAfter time.Duration, isAllowed bool) string {
	text := quoted(name)
	if remaining <= numberMax {
		text += fmt.Sprintf(";r=%d", remaining)
	}
	if !isAllowed && retryAfter != None {
		text += fmt.Sprintf(";t=%d", seconds(retryAfter))
	}
	return text
}

func remaining(row LimitRow) int64 {
	if row.Remaining < row.Keep {
		return 0
	}
	return row.Remaining - row.Keep
}

// Whole seconds, rounded up.
func seconds(wait time.Duration) int64 {
	whole := int64(wait / time.Second)
	if wait%time.Second > 0 {
		whole++
	}
	return whole
}

// A String of RFC 9651. Bytes that it cannot have are written as those of a Display String.
func quoted(text string) string {
	written := []byte{'"'}
	for _, each := range []byte(text) {
		switch {
		case each < 0x20 || each > 0x7e || each == '%':
			written = append(written, fmt.Sprintf("%%%02x", each)...)
		case each == '"' || each == '\\':
			written = append(written, '\\', each)
		default:
			written = append(written, each)
		}
	}
	return string(append(written, '"'))
}
