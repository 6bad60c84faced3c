package weir

import (
	"fmt"
	"net/http"
	"strconv"
)

// A Rule is an option of Middleware.
type Rule func(*rules)

// Rules are the options of a middleware, put together.
type rules struct {
	limits      []string
	key         func(*http.Request) string
	skip        func(*http.Request) bool
	cost        func(*http.Request) int64
	denied      func(http.ResponseWriter, *http.Request, Decision)
	trustedHops int
	hasLegacy   bool
	chargeWhen  func(status int, header http.Header) bool
}

// Limits are those of each key: weir.Limits("10/s", "@free"). There must be one.
func Limits(limits ...string) Rule {
	return func(r *rules) { r.limits = append(r.limits, limits...) }
}

// Key makes the key of a request; by default it is CallerKey. An empty key is a mistake, answered
// by 500: it would be one bucket for all callers.
func Key(key func(*http.Request) string) Rule { return func(r *rules) { r.key = key } }

// Skip says which requests pass without a question; by default those by which browsers ask for
// CORS.
func Skip(skip func(*http.Request) bool) Rule { return func(r *rules) { r.skip = skip } }

// Cost is how many tokens a request takes; by default 1.
func Cost(cost func(*http.Request) int64) Rule { return func(r *rules) { r.cost = cost } }

// Denied makes the response to a request that is not allowed. Its header has the Fields already.
func Denied(denied func(http.ResponseWriter, *http.Request, Decision)) Rule {
	return func(r *rules) { r.denied = denied }
}

// TrustedHops is how many proxies of yours there are: the address of the caller is that entry of
// X-Forwarded-For, counted from the right.
func TrustedHops(count int) Rule { return func(r *rules) { r.trustedHops = count } }

// LegacyHeaders adds X-RateLimit-Limit, -Remaining and -Reset.
func LegacyHeaders() Rule { return func(r *rules) { r.hasLegacy = true } }

// ChargeWhen says which responses are charged. Then a request passes if its tokens are there, and
// takes them only after its response.
func ChargeWhen(charges func(status int, header http.Header) bool) Rule {
	return func(r *rules) { r.chargeWhen = charges }
}

func newRules(options []Rule) *rules {
	r := &rules{skip: isPreflight}
	for _, option := range options {
		option(r)
	}
	if len(r.limits) == 0 || r.trustedHops < 0 {
		panic("weir: a Middleware has Limits, and TrustedHops of 0 or more")
	}
	return r
}

// The words that charge a request, for RL.CHARGE and, unless its response decides, RL.ALLOW.
func (r *rules) charge(request *http.Request) ([]string, error) {
	key, err := r.keyOf(request)
	if err != nil {
		return nil, err
	}
	words := append([]string{key}, r.limits...)
	if r.cost != nil {
		words = append(words, "COST", strconv.FormatInt(r.cost(request), 10))
	}
	return words, nil
}

// The words that ask, from those that charge: of ChargeWhen a look.
func (r *rules) question(charge []string) []string {
	if r.chargeWhen == nil {
		return charge
	}
	keep := "1"
	if r.cost != nil {
		keep = charge[len(charge)-1]
	}
	words := []string{charge[0]}
	for _, limit := range r.limits {
		words = append(words, fmt.Sprintf("%s,cost=0,keep=%s", limit, keep))
	}
	return words
}

func (r *rules) keyOf(request *http.Request) (string, error) {
	if r.key == nil {
		return CallerKey(request, r.trustedHops)
	}
	key := r.key(request)
	if key == "" {
		return "", &Mistake{"the Key of a request is empty: one bucket for all callers"}
	}
	return key, nil
}

// Returns whether a browser asks by this request if it may send another one (CORS).
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions &&
		len(r.Header.Values("Access-Control-Request-Method")) > 0
}
