// Package weir asks weir, the rate-limit server, before an action runs.
//
//	limiter, err := weir.New("redis://app:secret@weir.internal:7379")
//	if err != nil { ... }                                // the URL is wrong
//	decision, err := limiter.Allow(ctx, "user:42", "10/s", "1000/h")
//	if err != nil { ... }                                // a mistake: a bad limit, a bad login
//	if !decision.Allowed { ... }                         // decision.RetryAfter says when it is
//
// The words are those of RL.ALLOW: a key and its limits, then perhaps AND, another key and its
// limits; COST, too.
//
// # Without weir
//
// A call takes 50 ms at most. Then its Decision is what the Limiter was told: the call is allowed
// (it fails open, which is the default), or it is not (FailClosed). An outage is never an error of
// a call that returns a Decision; a *Mistake always is, as it does not pass with time. A login that
// is refused is a Mistake until the first success of the Limiter, later an outage, as passwords
// change.
//
// # Contexts
//
// Every call takes a context first. Its deadline shortens that of the call, and counts as an
// outage. If it is cancelled, the call returns context.Canceled, is not counted, and its connection
// is closed, so that no reply reaches another call. Only what ends a hold, a lease or a slice does
// not end with the context, which is often over by then.
package weir
