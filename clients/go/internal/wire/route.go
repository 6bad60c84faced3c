package wire

import (
	"context"
	"crypto/tls"
	"strconv"
	"sync"
	"time"

	"weir/client/internal/address"
)

// A Route is the way to a server: where weir is, and how it is asked.
type Route struct {
	Address  *address.Address
	TLS      *tls.Config // nil: none
	Deadline time.Duration

	mutex     sync.Mutex // guards what the Sentinels have said
	sentinels []address.Place
	primary   *address.Place // nil: to be asked for
}

// Returns a link to the server, logged in, or Lost or Refused.
func (r *Route) connect(ctx context.Context) (*link, error) {
	place, err := r.place(ctx)
	if err != nil {
		return nil, err
	}
	l, err := dial(ctx, place, r.TLS)
	if err != nil || !r.Address.HasLogin() {
		return l, err
	}
	login := []string{"AUTH", r.Address.Password}
	if r.Address.Username != "" {
		login = []string{"AUTH", r.Address.Username, r.Address.Password}
	}
	if _, err := l.askBefore(ctx, login); err != nil {
		l.close()
		if refused, ok := err.(*Refused); ok {
			refused.isLogin = true
		}
		return nil, err
	}
	return l, nil
}

// Forgets the primary: it is asked for again, if Sentinels know it.
func (r *Route) forget() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.primary = nil
}

func (r *Route) place(ctx context.Context) (address.Place, error) {
	if r.Address.Master == "" {
		return r.Address.Places[0], nil
	}
	r.mutex.Lock()
	if r.primary != nil {
		defer r.mutex.Unlock()
		return *r.primary, nil
	}
	if r.sentinels == nil {
		r.sentinels = r.Address.Places
	}
	sentinels := r.sentinels
	r.mutex.Unlock()
	for i, sentinel := range sentinels {
		primary, err := r.askSentinel(ctx, sentinel, len(sentinels))
		if err != nil {
			continue
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.primary = &primary
		r.sentinels = append([]address.Place{sentinel}, sentinels[:i]...)
		r.sentinels = append(r.sentinels, sentinels[i+1:]...)
		return primary, nil
	}
	return address.Place{}, &Lost{"noprimary", "no Sentinel names a primary"}
}

// Asks before the end of ctx, which has a deadline.
func (l *link) askBefore(ctx context.Context, words []string) (any, error) {
	end, _ := ctx.Deadline()
	return l.ask(ctx, end, words)
}

// Asks one of so many Sentinels, each of which may take the same time.
func (r *Route) askSentinel(
	ctx context.Context, sentinel address.Place, count int,
) (address.Place, error) {
	limit := connectTime(r.Deadline) / time.Duration(count+1)
	if r.Deadline < limit {
		limit = r.Deadline
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l, err := dial(ctx, sentinel, r.TLS)
	if err != nil {
		return address.Place{}, err
	}
	defer l.close()
	words := []string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", r.Address.Master}
	reply, err := l.askBefore(ctx, words)
	if err != nil {
		return address.Place{}, err
	}
	pair, _ := reply.([]any)
	if len(pair) != 2 {
		return address.Place{}, &Lost{"noprimary", "the Sentinel knows no primary"}
	}
	host, _ := pair[0].(string)
	digits, _ := pair[1].(string)
	port, err := strconv.Atoi(digits)
	return address.Place{Host: host, Port: port}, err
}
