package weir

import (
	"context"
	"time"
)

// Detailed has the calls of a Limiter whose Decisions have a row for each limit, for Fields.
type Detailed struct{ limiter *Limiter }

// Allow is that of the Limiter.
func (d Detailed) Allow(ctx context.Context, words ...string) (Decision, error) {
	return d.limiter.allow(ctx, words, true)
}

// Peek is that of the Limiter.
func (d Detailed) Peek(ctx context.Context, words ...string) (Decision, error) {
	return d.limiter.look(ctx, "RL.PEEK", words, true)
}

// Charge is that of the Limiter.
func (d Detailed) Charge(ctx context.Context, words ...string) (Decision, error) {
	return d.limiter.look(ctx, "RL.CHARGE", words, true)
}

// Refund is that of the Limiter.
func (d Detailed) Refund(ctx context.Context, words ...string) (Decision, error) {
	return d.limiter.look(ctx, "RL.REFUND", words, true)
}

// Wait is that of the Limiter.
func (d Detailed) Wait(
	ctx context.Context, timeout time.Duration, words ...string,
) (Decision, error) {
	return d.limiter.wait(ctx, timeout, words, true)
}
