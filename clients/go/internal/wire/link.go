package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"weir/client/internal/address"

	"github.com/redis/go-redis/v9"
)

const keepAlive = 30 * time.Second

var past = time.Unix(1, 0)

// A link is one connection, over which go-redis speaks. It is for one goroutine at a time.
//
// go-redis sets no deadline, connects once, and sends nothing of its own: the deadlines are those
// of the link's calls.
type link struct {
	generation int
	socket     net.Conn // below TLS, if there is any
	stream     net.Conn
	client     *redis.Client
	wasAsked   bool
}

// Connects before the end of ctx.
func dial(ctx context.Context, place address.Place, config *tls.Config) (*link, error) {
	network, target := "tcp", place.String()
	if place.Path != "" {
		network, target = "unix", place.Path
	}
	dialer := net.Dialer{KeepAlive: keepAlive}
	socket, err := dialer.DialContext(ctx, network, target)
	if err != nil {
		return nil, lost(err)
	}
	l := &link{socket: socket, stream: socket}
	if config != nil {
		if config.ServerName == "" {
			config = config.Clone()
			config.ServerName = place.Host
		}
		secure := tls.Client(socket, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			socket.Close()
			return nil, lost(err)
		}
		l.stream = secure
	}
	l.client = newClient(target, undisturbed{l.stream})
	return l, nil
}

func newClient(target string, stream net.Conn) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: target,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			only := stream
			stream = nil
			if only == nil {
				return nil, net.ErrClosed
			}
			return only, nil
		},
		PoolSize:        1,
		MaxRetries:      -1,
		ReadTimeout:     -2,
		WriteTimeout:    -2,
		ConnMaxIdleTime: -1,
		Protocol:        2,
		DisableIdentity: true,
	})
	client.AddHook(withoutHello{})
	return client
}

// Asks. The call ends at `end`, and when ctx does; then the connection is of no use any longer, so
// that its reply reaches no other call.
func (l *link) ask(ctx context.Context, end time.Time, words []string) (any, error) {
	if err := l.stream.SetDeadline(end); err != nil {
		return nil, lost(err)
	}
	if ctx.Done() != nil {
		defer l.interruptAtEnd(ctx)()
	}
	arguments := make([]any, len(words))
	for i, word := range words {
		arguments[i] = word
	}
	command := redis.NewCmd(context.Background(), arguments...)
	l.wasAsked = true
	return outcome(command, l.process(command))
}

// Has go-redis send a command and read its reply. There are replies that it panics at.
func (l *link) process(command *redis.Cmd) (err error) {
	defer func() {
		if odd := recover(); odd != nil {
			err = fmt.Errorf("weir: go-redis cannot read a reply: %v", odd)
		}
	}()
	return l.client.Process(context.Background(), command)
}

// An undisturbed connection keeps its deadlines: go-redis, which would lift them before a call, can
// neither set them nor look below.
type undisturbed struct{ net.Conn }

func (undisturbed) SetDeadline(time.Time) error      { return nil }
func (undisturbed) SetReadDeadline(time.Time) error  { return nil }
func (undisturbed) SetWriteDeadline(time.Time) error { return nil }

// Returns whether a link may be asked: it is open, and there is nothing to read. What go-redis has
// read beyond a reply makes it close the connection, and have one less.
func (l *link) isIdle() bool {
	return (!l.wasAsked || l.client.PoolStats().TotalConns == 1) && l.isQuiet()
}

// Interrupts a call when its context ends. Returns what ends that.
func (l *link) interruptAtEnd(ctx context.Context) (stop func()) {
	answered, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			_ = l.stream.SetDeadline(past)
		case <-answered:
		}
	}()
	return func() {
		close(answered)
		<-stopped
	}
}

func (l *link) close() {
	_ = l.socket.Close() // first, as TLS would say goodbye to a server that may be stopped
	_ = l.client.Close()
}

func outcome(command *redis.Cmd, err error) (any, error) {
	var refused redis.Error
	var network net.Error
	switch {
	case err == nil:
		return command.Val(), nil
	case errors.Is(err, redis.Nil):
		return nil, nil
	case errors.As(err, &refused):
		return nil, &Refused{Text: refused.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.As(err, &network):
		return nil, lost(err)
	}
	return nil, err // go-redis does not understand the reply, or the program is wrong
}

// The loss that an error of the network is.
func lost(err error) *Lost {
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &network) && network.Timeout()) {
		return &Lost{"timeout", err.Error()}
	}
	return &Lost{"connection", err.Error()}
}

// A hook that keeps HELLO from being sent: replies are those of RESP2 without it.
type withoutHello struct{}

func (withoutHello) DialHook(next redis.DialHook) redis.DialHook { return next }

func (withoutHello) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if command.Name() == "hello" {
			return nil
		}
		return next(ctx, command)
	}
}

func (withoutHello) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
