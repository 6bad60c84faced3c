package tests

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	weir "weir/client"
)

func TestDecisions(t *testing.T) {
	l := patient(t, start(t).url(""))
	limit := "2/" + never + ",fixed"
	for _, left := range []int64{1, 0} {
		equal(t, allow(t, l, "k", limit).Remaining, left)
	}
	denied := allow(t, l, "k", limit)
	equal(t, denied.Reason, weir.ReasonDenied)
	equal(t, denied.RetryAfter > 24*time.Hour, true)
	equal(t, allow(t, l, "\xff\x00", "5/s,cost=6").Reason, weir.ReasonNever)
	d, err := l.Detailed().Allow(background, "7", "5/s,name=burst")
	check(t, err)
	equal(t, d.Limits[0].Name+fmt.Sprint(d.Limits[0].Remaining), "burst4")
	d, err = l.Peek(background, "k", limit)
	check(t, err)
	equal(t, d.Allowed, false)
	d, err = l.Refund(background, "k", limit)
	check(t, err)
	equal(t, d.Remaining, 1)
	d, err = l.Charge(background, "k", limit, "COST", "2")
	check(t, err)
	equal(t, d.Allowed, false)
	reply, err := l.Command(background, "RL.RESET", "k")
	check(t, err)
	equal(t, fmt.Sprint(reply), "1")
	counts := l.Counts()
	equal(t, fmt.Sprint(counts.Asked, counts.Allowed, counts.Denied), "8 4 4")
}

func TestMistakes(t *testing.T) {
	l := patient(t, start(t).url(""))
	_, err := l.Allow(background, "k", "2/x")
	isMistake(t, err, "unknown unit 'x'")
	isMistake(t, l.Verify(background, "k", "@gold"), "unknown policy 'gold'")
	_, err = l.Allow(background)
	isMistake(t, err, "no key")
	_, err = l.Command(background)
	isMistake(t, err, "one word")
	_, err = l.Slice(0, time.Second, "k", "1/s")
	isMistake(t, err, "a token")
	_, err = l.Lease(background, 0, "k", "1,held")
	isMistake(t, err, "time to live")
}

// Goal: no command changes a connection for the next call.
func TestCommandsThatChangeTheirConnection(t *testing.T) {
	l := patient(t, start(t).url(""))
	for _, words := range []string{
		"MULTI", "multi", "SUBSCRIBE c", "AUTH u p", "HELLO 3", "MONITOR", "RESET", "QUIT",
		"SELECT 0", "WATCH k", "CLIENT REPLY OFF", "client reply skip", "REPLCONF listening-port 1",
	} {
		_, err := l.Command(background, strings.Fields(words)...)
		isMistake(t, err, "changes its connection")
		equal(t, allow(t, l, "k", "100/h,cost=0").Reason, weir.ReasonAllowed)
	}
}

func TestHolds(t *testing.T) {
	l := patient(t, start(t).url(""))
	limit := "1000/" + never + ",fixed"
	left := func(limit string) int64 {
		d, err := l.Peek(background, "team:7", limit, "COST", "0")
		check(t, err)
		return d.Remaining
	}
	words := []string{"team:7", "2,held", limit + ",cost={}"}
	held, err := l.Reserve(background, time.Minute, 600, words...)
	check(t, err)
	equal(t, held.IsOpen(), true)
	equal(t, fmt.Sprint(left(limit), left("2,held")), "400 1")
	_, err = l.Reserve(background, time.Minute, 600, words...)
	var limited *weir.Limited
	equal(t, errors.As(err, &limited), true)
	equal(t, limited.Key, "team:7")

	// Goal: what ends a hold does so for a caller whose context has ended.
	ended, cancel := context.WithCancel(background)
	cancel()
	settled, err := held.Settle(ended, 900)
	check(t, err)
	equal(t, settled, true)
	equal(t, fmt.Sprint(left(limit), left("2,held")), "100 2")

	lease, err := l.Lease(background, time.Minute, "team:7", "2,held")
	check(t, err)
	equal(t, fmt.Sprint(left("2,held"), lease.Lost()), "1 false")
	equal(t, lease.Release(ended), true)
	equal(t, left("2,held"), 2)
}

func TestALeaseIsRenewed(t *testing.T) {
	l := patient(t, start(t).url(""))
	lease, err := l.Lease(background, 200*time.Millisecond, "k", "1,held")
	check(t, err)
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		d, err := l.Peek(background, "k", "1,held")
		check(t, err)
		equal(t, d.Allowed, false)
	}
	equal(t, lease.Lost(), false)
	equal(t, lease.Release(background), true)
}

func TestASlice(t *testing.T) {
	l := patient(t, start(t, "--slice-life", "60s").url(""))
	limit := "100/" + never + ",fixed"
	part, err := l.Slice(6, time.Minute, "k", limit)
	check(t, err)
	left := func() int64 {
		d, err := l.Peek(background, "k", limit)
		check(t, err)
		return d.Remaining
	}
	check(t, part.Spend(background))
	check(t, part.Spend(background))
	equal(t, left(), 93)
	part.GiveBack(background)
	equal(t, left(), 97)
	for i := 0; i < 98; i++ {
		check(t, part.Spend(background))
	}
	var limited *weir.Limited
	equal(t, errors.As(part.Spend(background), &limited), true)
}

// Goal: goroutines get all tokens and no more.
func TestGoroutinesShareALimiterAndASlice(t *testing.T) {
	l := patient(t, start(t, "--slice-life", "60s").url(""))
	limit := "100/" + never + ",fixed"
	part, err := l.Slice(7, time.Minute, "sliced", limit)
	check(t, err)
	var asked, spent atomic.Int64
	inParallel(24, func() {
		for i := 0; i < 20; i++ {
			if d, err := l.Allow(background, "asked", limit); err == nil && d.Allowed {
				asked.Add(1)
			}
			if part.Spend(background) == nil {
				spent.Add(1)
			}
		}
	})
	equal(t, fmt.Sprint(asked.Load(), spent.Load()), "100 100")
}

// Goal: at most 16 calls wait, and the end of the server ends them.
func TestWaits(t *testing.T) {
	s := start(t)
	l := patient(t, s.url(""))
	d, err := l.Wait(background, time.Second, "k", "100/s")
	check(t, err)
	equal(t, d.Allowed, true)
	for _, reason := range []weir.Reason{weir.ReasonAllowed, weir.ReasonDenied} {
		d, err = l.Wait(background, time.Millisecond, "k", "1/m")
		check(t, err)
		equal(t, d.Reason, reason)
	}
	const waits = 16
	for i := 0; i < waits; i++ {
		equal(t, allow(t, l, fmt.Sprint("k", i), "1/50s").Allowed, true)
	}
	var next atomic.Int64
	causes := make(chan string, waits)
	go inParallel(waits, func() {
		d, _ := l.Wait(background, 55*time.Second, fmt.Sprint("k", next.Add(1)-1), "1/50s")
		causes <- d.Cause
	})
	awaitTrue(t, "16 calls wait", func() bool {
		info, err := l.Command(background, "INFO", "clients")
		check(t, err)
		return strings.Contains(info.(string), fmt.Sprint("blocked_clients:", waits))
	})
	d, err = l.Wait(background, time.Second, "k", "100/s")
	check(t, err)
	equal(t, d.Cause, "busy")
	s.kill()
	for i := 0; i < waits; i++ {
		equal(t, <-causes, "connection")
	}
}

func TestAUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.sock")
	start(t, "--unix-socket", path)
	equal(t, allow(t, patient(t, "unix://"+path), "k", "1/s").Reason, weir.ReasonAllowed)
	l, err := weir.NewWith(weir.UnixSocket(path), weir.Deadline(patience))
	check(t, err)
	defer l.Close()
	equal(t, allow(t, l, "k2", "1/s").Reason, weir.ReasonAllowed)
}

func isMistake(t *testing.T, err error, text string) {
	t.Helper()
	var mistake *weir.Mistake
	if !errors.As(err, &mistake) || !strings.Contains(mistake.Error(), text) {
		t.Fatalf("%v, not a mistake with %q", err, text)
	}
}

func inParallel(count int, call func()) {
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			call()
		}()
	}
	group.Wait()
}
