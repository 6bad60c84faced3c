package weir

import (
	"context"
	"errors"
	"log"
	"net/http"
)

type decisionKey struct{}

// FromContext returns the Decision of a request that Middleware has asked for.
func FromContext(ctx context.Context) (Decision, bool) {
	d, ok := ctx.Value(decisionKey{}).(Decision)
	return d, ok
}

// Middleware limits a handler:
//
//	handler = weir.Middleware(limiter, weir.Limits("10/s", "1000/h"))(handler)
//
// Each address has its own limits, unless there is a Key. A request that is not allowed is answered
// by 429 with the Fields and the Problem of its Decision, or by 503 if weir is unavailable and the
// Limiter fails closed. A mistake is logged, and answered by 500. It panics without Limits.
func Middleware(limiter *Limiter, options ...Rule) func(http.Handler) http.Handler {
	rules := newRules(options)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rules.skip(r) {
				next.ServeHTTP(w, r)
				return
			}
			charge, err := rules.charge(r)
			if err != nil {
				fail(w, err)
				return
			}
			d, err := limiter.Detailed().Allow(r.Context(), rules.question(charge)...)
			if errors.Is(err, context.Canceled) {
				// The caller has gone, most often. Without a status it would be told 200.
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if err != nil {
				fail(w, err)
				return
			}
			for _, field := range Fields(d, rules.hasLegacy) {
				w.Header().Set(field.Name, field.Value)
			}
			r = r.WithContext(context.WithValue(r.Context(), decisionKey{}, d))
			switch {
			case !d.Allowed && rules.denied != nil:
				rules.denied(w, r, d)
			case !d.Allowed:
				refuse(w, d)
			case rules.chargeWhen != nil:
				serveAndCharge(limiter, rules, charge, next, w, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// Charges a response, also that of a handler that panics.
func serveAndCharge(
	limiter *Limiter, rules *rules, charge []string, next http.Handler, w http.ResponseWriter,
	r *http.Request,
) {
	watched := &statusWriter{ResponseWriter: w}
	defer func() {
		status := watched.status
		if status == 0 {
			status = http.StatusInternalServerError // it has panicked
		}
		if !rules.chargeWhen(status, w.Header()) {
			return
		}
		// The caller may have gone, which must not make the request free.
		if _, err := limiter.Charge(endless{r.Context()}, charge...); err != nil {
			log.Printf("weir: a response is not charged: %v", err)
		}
	}()
	next.ServeHTTP(watched, r)
	watched.setStatus(http.StatusOK)
}

func refuse(w http.ResponseWriter, d Decision) {
	status, body := Problem(d)
	w.Header().Set("Content-Type", ProblemType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may have gone
}

func fail(w http.ResponseWriter, err error) {
	log.Printf("weir: a request cannot be limited: %v", err)
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}
