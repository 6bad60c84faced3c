package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	weir "weir/client"
)

var silent = weir.OnUnavailable(func(string) {})

func failsAsChosen(t *testing.T, url string) {
	t.Helper()
	for _, choice := range []string{"open", "closed"} {
		l := limiter(t, url, weir.Fail(choice), silent)
		begin := time.Now()
		d := allow(t, l, "k", "1/h")
		equal(t, d.Allowed, choice == "open")
		equal(t, d.Reason, weir.ReasonUnavailable)
		equal(t, d.Cause == "timeout" || d.Cause == "connection", true)
		_, err := l.Check(background, "k", "1/h")
		var limited *weir.Limited
		equal(t, errors.As(err, &limited), choice == "closed")
		equal(t, time.Since(begin) < 2*bound, true)
	}
}

func TestAServerThatIsStopped(t *testing.T) {
	s := start(t)
	s.pause(t)
	failsAsChosen(t, s.url(""))
}

func TestNoServerAtAll(t *testing.T) {
	url := fmt.Sprintf("redis://127.0.0.1:%d", closedPort(t))
	failsAsChosen(t, url)
	var away *weir.Unavailable
	equal(t, errors.As(limiter(t, url).Verify(background), &away), true)
	equal(t, away.Cause, "connection")
}

func TestAServerThatStopsWhileItIsAsked(t *testing.T) {
	s := start(t)
	l := limiter(t, s.url(""), silent)
	isAnswered := func() bool {
		return allow(t, l, "k", "100/h,cost=0").Reason == weir.ReasonAllowed
	}
	awaitTrue(t, "an answer", isAnswered)
	s.pause(t)
	for i := 0; i < 40; i++ { // more than there are connections
		begin := time.Now()
		equal(t, allow(t, l, "k", "100/h,cost=0").Cause, "timeout")
		equal(t, time.Since(begin) < bound, true)
	}
	s.resume(t)
	awaitTrue(t, "an answer", isAnswered)
}

func TestAServerThatComesBack(t *testing.T) {
	s := start(t)
	l := patient(t, s.url(""), weir.FailClosed(), silent)
	equal(t, allow(t, l, "k", "1/h").Allowed, true)
	s.kill()
	equal(t, allow(t, l, "k", "1/h").Cause, "connection")
	startAt(t, s.port)
	equal(t, allow(t, l, "k", "1/h").Reason, weir.ReasonAllowed)
}

// Goal: after a call was cancelled, its reply reaches no other. Method: the server is stopped while
// it is asked, and answers when it goes on.
func TestACallThatIsCancelled(t *testing.T) {
	s := start(t)
	l := patient(t, s.url(""))
	equal(t, allow(t, l, "warm", "1/s").Allowed, true)
	before := l.Counts()
	s.pause(t)
	for i := 0; i < 20; i++ {
		ctx, cancel := context.WithCancel(background)
		time.AfterFunc(5*time.Millisecond, cancel)
		_, err := l.Allow(ctx, fmt.Sprint("cancelled", i), "5/h")
		equal(t, errors.Is(err, context.Canceled), true)
	}
	s.resume(t)
	equal(t, allow(t, l, "k", "1000/h").Remaining, 999)
	equal(t, l.Counts().Asked, before.Asked+1)
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := l.Allow(ctx, "k", "1000/h")
	equal(t, errors.Is(err, context.Canceled), true)
	_, err = l.Wait(ctx, time.Second, "k", "1000/h")
	equal(t, errors.Is(err, context.Canceled), true)
	equal(t, allow(t, l, "k", "1000/h").Remaining, 998)
}

func TestADeadlineOfTheCaller(t *testing.T) {
	s := start(t)
	l := patient(t, s.url(""), weir.FailClosed(), silent)
	equal(t, allow(t, l, "warm", "1/s").Allowed, true)
	s.pause(t)
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	d, err := l.Allow(ctx, "late", "5/h")
	check(t, err)
	equal(t, fmt.Sprintf("%v %s", d.Allowed, d.Cause), "false timeout")
	s.resume(t)
	equal(t, allow(t, l, "k", "1000/h").Remaining, 999)
}

func TestALimiterThatIsClosed(t *testing.T) {
	s := start(t)
	s.pause(t)
	l := patient(t, s.url(""))
	failed := make(chan error)
	go func() {
		_, err := l.Wait(background, time.Second, "k", "1/s")
		failed <- err
	}()
	time.Sleep(time.Millisecond)
	check(t, l.Close())
	_, err := l.Allow(background, "k", "1/s")
	isMistake(t, err, "closed")
	s.resume(t)
	<-failed // at once or answered, as it was under way
}

func TestTheLogOfALimiterWithoutACallback(t *testing.T) {
	var text bytes.Buffer
	log.SetOutput(&text)
	defer log.SetOutput(os.Stderr)
	l := patient(t, fmt.Sprintf("redis://127.0.0.1:%d", closedPort(t)))
	for i := 0; i < 3; i++ {
		allow(t, l, "k", "1/h")
	}
	equal(t, strings.Count(text.String(), "weir is unavailable (connection)"), 1)
}

// A log that asks the Limiter that writes to it.
type askingLog struct{ ask func() }

func (l askingLog) Write(text []byte) (int, error) {
	l.ask()
	return len(text), nil
}

func TestALogThatAsksTheLimiter(t *testing.T) {
	l := limiter(t, fmt.Sprintf("redis://127.0.0.1:%d", closedPort(t)))
	var counts weir.Counts
	log.SetOutput(askingLog{func() { counts = l.Counts() }})
	defer log.SetOutput(os.Stderr)
	allow(t, l, "k", "1/h")
	equal(t, counts.Asked, 1)
}
