package tests

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	weir "weir/client"
)

const callers = 20 // more than there are connections

// Goal: what a server sends beyond a reply reaches no other call.
func TestBytesBeyondAReply(t *testing.T) {
	denied := strings.Replace(admitted, ":1", ":0", 1)
	files := newCertificates(t)
	pair, err := tls.LoadX509KeyPair(files.certificate, files.key)
	check(t, err)
	for _, scheme := range []string{"redis", "rediss"} {
		config, query := (*tls.Config)(nil), ""
		if scheme == "rediss" {
			config = &tls.Config{Certificates: []tls.Certificate{pair}}
			query = "?ca=" + files.authority
		}
		place := startScriptedWith(t, config, func(request string) string {
			if strings.Contains(request, "first") {
				return admitted + denied
			}
			return admitted
		})
		l := patient(t, scheme+"://"+place+query)
		for i := 0; i < callers; i++ {
			equal(t, allow(t, l, "first", "1/h").Allowed, true)
			equal(t, allow(t, l, "k", "1/h").Allowed, true)
		}
	}
}

// Goal: a call that waits for a connection gets none with bytes beyond a reply. Method: more calls
// than connections, at once.
func TestBytesBeyondAReplyToOthersThatWait(t *testing.T) {
	place := startScripted(t, func(request string) string {
		return admitted + "$" + fmt.Sprint(len(request)) + "\r\n" + request + "\r\n"
	})
	l := patient(t, "redis://"+place)
	var allowed atomic.Int64
	inParallel(2*callers, func() {
		if d, err := l.Allow(background, "k", "1/h"); err == nil && d.Allowed {
			allowed.Add(1)
		}
	})
	equal(t, allowed.Load(), 2*callers)
}

// Goal: TLS has decrypted nothing that the next call reads. Method: two records at once.
func TestARecordOfTLSBeyondAReply(t *testing.T) {
	files := newCertificates(t)
	pair, err := tls.LoadX509KeyPair(files.certificate, files.key)
	check(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	go func() {
		for connection, err := listener.Accept(); err == nil; connection, err = listener.Accept() {
			gathered := &gathering{Conn: connection}
			config := &tls.Config{Certificates: []tls.Certificate{pair}}
			go serveTwice(gathered, tls.Server(gathered, config))
		}
	}()
	l := patient(t, fmt.Sprintf("rediss://%s?ca=%s", listener.Addr(), files.authority))
	for i := 0; i < callers; i++ {
		equal(t, allow(t, l, "k", "1/h").Allowed, true)
	}
}

// Answers the first request with a reply and with another one, in records of their own.
func serveTwice(below *gathering, stream *tls.Conn) {
	defer below.Close()
	if stream.Handshake() != nil {
		return
	}
	var buffer [1024]byte
	for {
		if _, err := stream.Read(buffer[:]); err != nil {
			return
		}
		below.holds = true
		_, _ = stream.Write([]byte(admitted))
		_, _ = stream.Write([]byte(strings.Replace(admitted, ":1", ":0", 1)))
		below.flush()
	}
}

// A connection that sends several writes at once.
type gathering struct {
	net.Conn
	holds bool
	held  bytes.Buffer
}

func (g *gathering) Write(text []byte) (int, error) {
	if g.holds {
		return g.held.Write(text)
	}
	return g.Conn.Write(text)
}

func (g *gathering) flush() {
	g.holds = false
	_, _ = g.held.WriteTo(g.Conn)
}

// Goal: a reply that go-redis cannot read is an error, and costs no connection.
func TestOddReplies(t *testing.T) {
	var odd atomic.Value
	l := patient(t, "redis://"+startScripted(t, func(request string) string {
		if strings.Contains(request, "odd") {
			return odd.Load().(string)
		}
		return admitted
	}))
	for _, reply := range []string{
		"%1\r\n*1\r\n:1\r\n:1\r\n", "*9223372036854775807\r\n", "$9223372036854775806\r\n", "?\r\n",
		"+OK\r\n", "*0\r\n", "*1\r\n+1\r\n", "$-1\r\n", ",nan\r\n",
	} {
		odd.Store(reply)
		for i := 0; i < callers; i++ {
			if _, err := l.Allow(background, "odd", "1/h"); err == nil {
				t.Fatalf("%q is a decision", reply)
			}
		}
		equal(t, allow(t, l, "k", "1/h").Allowed, true)
	}
}

// Goal: the end of a Limiter ends its calls, also those that wait for a connection, as an outage,
// and leaves no goroutine. Method: a server that does not answer, and a deadline that is too long.
func TestCallsThatAreUnderWayWhenTheLimiterIsClosed(t *testing.T) {
	before := runtime.NumGoroutine()
	var asked atomic.Int64
	silence := make(chan struct{})
	place := startScripted(t, func(string) string {
		asked.Add(1)
		<-silence
		return "lost"
	})
	l, err := weir.New("redis://"+place, weir.Deadline(patience), weir.FailClosed(), silent)
	check(t, err)
	said := make(chan string, 3*callers)
	begin := time.Now()
	go inParallel(callers, func() {
		d, err := l.Allow(background, "k", "1/h")
		said <- fmt.Sprint(d.Cause, err)
	})
	go inParallel(callers/2, func() {
		d, err := l.Wait(background, time.Hour, "k", "1/h")
		said <- fmt.Sprint(d.Cause, err)
	})
	const links = 16
	awaitTrue(t, "all connections are used", func() bool {
		return asked.Load() == links+callers/2
	})
	reserved := make(chan error)
	go func() {
		_, err := l.Reserve(background, time.Minute, 1, "k", "9/m,cost={}")
		reserved <- err
	}()
	check(t, l.Close())
	for i := 0; i < callers+callers/2; i++ {
		equal(t, <-said, "connection<nil>")
	}
	var limited *weir.Limited
	var mistake *weir.Mistake // if it had not begun yet
	err = <-reserved
	equal(t, errors.As(err, &limited) || errors.As(err, &mistake), true)
	equal(t, time.Since(begin) < patience, true)
	close(silence)
	awaitTrue(t, "no goroutine is left", func() bool { // besides the one that accepts
		return runtime.NumGoroutine() <= before+1
	})
}

// Goal: a call that is repeated is not a mistake if the Limiter is closed meanwhile.
func TestAReservationThatIsUnderWayWhenTheLimiterIsClosed(t *testing.T) {
	asked, silence := make(chan struct{}), make(chan struct{})
	defer close(silence)
	l := patient(t, "redis://"+startScripted(t, func(string) string {
		close(asked)
		<-silence
		return "lost"
	}), weir.FailClosed(), silent)
	reserved := make(chan error)
	go func() {
		_, err := l.Reserve(background, time.Minute, 1, "k", "9/m,cost={}")
		reserved <- err
	}()
	<-asked
	check(t, l.Close())
	var limited *weir.Limited
	equal(t, errors.As(<-reserved, &limited), true)
	equal(t, limited.Decision.Cause, "connection")
}

// Goal: connecting may take as long as its call. Method: a login that is answered only when another
// call's connecting, which was begun later, has ended.
func TestAWaitWhoseConnectionIsSlow(t *testing.T) {
	begun, isOver := make(chan struct{}), make(chan struct{})
	place := startScripted(t, func(request string) string {
		if strings.HasPrefix(request, "AUTH") {
			close(begun)
			<-isOver
			return "+OK\r\n"
		}
		return admitted
	})
	l := limiter(t, "redis://app:secret@"+place, silent)
	answered := make(chan string)
	go func() {
		d, err := l.Wait(background, patience, "k", "1/h")
		answered <- fmt.Sprint(d.Reason, err)
	}()
	<-begun
	mute := startScripted(t, func(string) string { <-isOver; return "lost" })
	var away *weir.Unavailable
	equal(t, errors.As(limiter(t, "redis://"+mute).Verify(background), &away), true)
	equal(t, away.Cause, "timeout")
	close(isOver)
	equal(t, <-answered, "allowed<nil>")
}

// Goal: a login that is refused late is told by no call that has a connection, and an outage by
// none.
func TestALoginThatIsRefusedLateIsToldOnlyIfItIsOfUse(t *testing.T) {
	for _, refusal := range []string{
		"-WRONGPASS no\r\n", "-ERR max number of clients reached\r\n",
	} {
		var logins atomic.Int64
		late := make(chan struct{})
		place := startScripted(t, func(request string) string {
			switch {
			case !strings.HasPrefix(request, "AUTH"):
				return admitted
			case logins.Add(1) == 1:
				<-late
				return refusal
			}
			return "+OK\r\n"
		})
		l := patient(t, "redis://app:secret@"+place, silent)
		ctx, cancel := context.WithCancel(background)
		left := make(chan error)
		go func() {
			_, err := l.Allow(ctx, "k", "1/h")
			left <- err
		}()
		awaitTrue(t, "the login is sent", func() bool { return logins.Load() == 1 })
		cancel()
		equal(t, errors.Is(<-left, context.Canceled), true)
		equal(t, allow(t, l, "k", "1/h").Reason, weir.ReasonAllowed)
		close(late)
		for i := 0; i < 200; i++ { // the refusal arrives meanwhile
			equal(t, allow(t, l, "k", "1/h").Reason, weir.ReasonAllowed)
		}
	}
}
