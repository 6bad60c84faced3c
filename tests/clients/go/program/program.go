// Calls clients/go as the lines of its standard input say (case_programs.py).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	weir "weir/client"
)

const lineBytesMax = 1 << 20

var (
	background = context.Background()
	printed    = regexp.MustCompile(`^<Limiter (.*), fails (\w+), deadline (\S+)>$`)
)

type program struct {
	limiter *weir.Limiter
	clock   *clock
	slice   *weir.Slice
	hold    *weir.Hold
	lease   *weir.Lease

	mutex  sync.Mutex
	causes []string
}

// The arguments of a call.
type arguments []any

func (a arguments) text(i int) string { return a[i].(string) }

func (a arguments) number(i int) int64 {
	if a[i] == nil {
		return weir.NoEstimate
	}
	return int64(a[i].(float64))
}

func (a arguments) time(i int) time.Duration {
	return time.Duration(a.number(i)) * time.Millisecond
}

// The words from there on.
func (a arguments) words(i int) []string {
	words := make([]string, 0, len(a))
	for _, word := range a[i:] {
		words = append(words, word.(string))
	}
	return words
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	p := &program{}
	for lines.Scan() {
		var call []any
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			panic(err)
		}
		fmt.Println(p.call(call[0].(string), call[1:]))
	}
}

func (p *program) call(name string, a arguments) string {
	switch name {
	case "limiter":
		return p.make(a[0].(map[string]any))
	case "address":
		found := printed.FindStringSubmatch(p.limiter.String())
		deadline, _ := time.ParseDuration(found[3])
		return fmt.Sprintf("%s %s %d", found[1], found[2], deadline.Milliseconds())
	case "text":
		return fmt.Sprintf("%v %+v %#v %s", p.limiter, p.limiter, p.limiter, p.limiter)
	case "close":
		return showIf(p.limiter.Close(), "ok")
	case "causes":
		return p.takeCauses()
	case "counts":
		return showCounts(p.limiter.Counts())
	case "clock":
		p.clock.move(a.time(0))
		return "ok"
	case "delay":
		p.clock.delay(a.time(0))
		return "ok"
	case "beats":
		return fmt.Sprint(p.clock.beats())
	case "caller":
		return caller(a)
	}
	return p.ask(name, a)
}

func (p *program) ask(name string, a arguments) string {
	l := p.limiter
	switch name {
	case "allow":
		return showDecision(l.Allow(background, a.words(0)...))
	case "details":
		return showDecision(l.Detailed().Allow(background, a.words(0)...))
	case "peek":
		return showDecision(l.Peek(background, a.words(0)...))
	case "charge":
		return showDecision(l.Charge(background, a.words(0)...))
	case "refund":
		return showDecision(l.Refund(background, a.words(0)...))
	case "wait":
		return showDecision(l.Wait(background, a.time(0), a.words(1)...))
	case "command":
		reply, err := l.Command(background, a.words(0)...)
		text := fmt.Sprintf("%v", reply)
		if list, ok := reply.([]any); ok { // with blanks, as Python's
			shown := make([]string, len(list))
			for i, each := range list {
				shown[i] = fmt.Sprintf("%q", each)
			}
			text = "[" + strings.Join(shown, ", ") + "]"
		}
		return showIf(err, text)
	case "verify":
		return showIf(l.Verify(background, a.words(0)...), "ok")
	case "fields":
		return showFields(l.Detailed().Allow(background, a.words(0)...))
	case "plain_fields":
		return showFields(l.Allow(background, a.words(0)...))
	case "check":
		_, err := l.Check(background, a.words(0)...)
		return showIf(err, "passes")
	case "mail":
		said := ""
		words := append([]string{"mail:" + a.text(0)}, a.words(1)...)
		err := l.Limited(background, func(context.Context) error {
			said = "to " + a.text(0)
			return nil
		}, words...)
		return showIf(err, said)
	case "flood":
		return p.flood(a.number(0))
	case "crowd":
		return p.crowd(a.number(0), a.number(1), a.words(2))
	}
	return p.ofHold(name, a)
}

func (p *program) ofHold(name string, a arguments) string {
	var err error
	switch name {
	case "slice":
		p.slice, err = p.limiter.Slice(int(a.number(0)), a.time(1), a.words(2)...)
		return showIf(err, "ok")
	case "spend":
		return showIf(p.slice.Spend(background), "passes")
	case "give_back":
		p.slice.GiveBack(background)
		return "ok"
	case "reserve":
		p.hold, err = p.limiter.Reserve(background, a.time(1), a.number(0), a.words(2)...)
		return showIf(err, "passes")
	case "settle":
		return settled(p.hold.Settle(background, a.number(0)))
	case "settle_or_charge":
		return settled(p.hold.SettleOrCharge(background, a.number(0)))
	case "cancel":
		p.hold.Cancel(background)
		return "ok"
	case "scope":
		return p.scope(a.text(0), a[1:])
	case "lease":
		p.lease, err = p.limiter.Lease(background, a.time(0), a.words(1)...)
		return showIf(err, "passes")
	case "lost":
		if p.lease.Lost() {
			return "lost"
		}
		return "held"
	case "release":
		if p.lease.Release(background) {
			return "freed"
		}
		return "not held"
	case "lease_scope":
		lease, err := p.limiter.Lease(background, a.time(0), a.words(1)...)
		if err == nil {
			defer lease.Release(background)
		}
		return showIf(err, "left")
	}
	return "no such call"
}

// Reserves, and leaves as `how` says.
func (p *program) scope(how string, a arguments) string {
	hold, err := p.limiter.Reserve(background, a.time(1), a.number(0), a.words(2)...)
	if err != nil {
		return showError(err)
	}
	defer hold.Cancel(background)
	switch how {
	case "fails":
		return "failed"
	case "settles":
		_, err = hold.Settle(background, a.number(0))
	}
	return showIf(err, "left")
}

func (p *program) make(options map[string]any) string {
	if p.limiter != nil {
		_ = p.limiter.Close()
	}
	p.clock = newClock()
	p.takeCauses()
	var err error
	made := p.options(options)
	if url, ok := options["url"].(string); ok {
		p.limiter, err = weir.New(url, made...)
	} else {
		p.limiter, err = weir.NewWith(made...)
	}
	return showIf(err, "ok")
}

func (p *program) options(said map[string]any) []weir.Option {
	made := []weir.Option{weir.Clock(p.clock.read)}
	username, _ := said["username"].(string)
	password, hasPassword := said["password"].(string)
	if username != "" || hasPassword {
		made = append(made, weir.Login(username, password))
	}
	if said["timer"] != true {
		made = append(made, weir.Timer(p.clock.every))
	}
	switch said["callback"] {
	case nil:
		made = append(made, weir.OnUnavailable(p.tell))
	case "raises":
		made = append(made, weir.OnUnavailable(func(cause string) { panic(cause) }))
	}
	sentinels, hasSentinels := said["sentinels"].([]any)
	if hasSentinels {
		master, _ := said["master"].(string)
		made = append(made, weir.Sentinels(master, arguments(sentinels).words(0)...))
	}
	for name, value := range said {
		switch name {
		case "host":
			made = append(made, weir.Host(value.(string)))
		case "port":
			made = append(made, weir.Port(int(value.(float64))))
		case "unix_socket":
			made = append(made, weir.UnixSocket(value.(string)))
		case "tls":
			made = append(made, weir.TLS(nil))
		case "fail":
			made = append(made, weir.Fail(value.(string)))
		case "deadline_ms":
			made = append(made, weir.Deadline(arguments{value}.time(0)))
		}
	}
	return made
}

func (p *program) tell(cause string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.causes = append(p.causes, cause)
}

func (p *program) takeCauses() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	causes := strings.Join(p.causes, " ")
	p.causes = nil
	if causes == "" {
		return "none"
	}
	return causes
}

func (p *program) flood(keys int64) string {
	passed := 0
	for i := int64(0); i < keys; i++ {
		_, err := p.limiter.Check(background, fmt.Sprint("flood:", i), "none")
		if err == nil {
			passed++
		} else if !isLimited(err) {
			return showError(err)
		}
	}
	return fmt.Sprint(passed)
}

func (p *program) crowd(callers, times int64, words []string) string {
	var passed atomic.Int64
	var group sync.WaitGroup
	for i := int64(0); i < callers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := int64(0); i < times; i++ {
				err := error(nil)
				if len(words) > 0 {
					_, err = p.limiter.Check(background, words...)
				} else {
					err = p.slice.Spend(background)
				}
				if err == nil {
					passed.Add(1)
				}
			}
		}()
	}
	group.Wait()
	return fmt.Sprint(passed.Load())
}

func caller(a arguments) string {
	request := &http.Request{RemoteAddr: a.text(0), Header: http.Header{}}
	for _, value := range a[1].([]any) {
		request.Header.Add("X-Forwarded-For", value.(string))
	}
	key, err := weir.CallerKey(request, int(a.number(2)))
	return showIf(err, key)
}

func settled(isSettled bool, err error) string {
	if isSettled {
		return "settled"
	}
	return showIf(err, "not settled")
}

func isLimited(err error) bool {
	var limited *weir.Limited
	return errors.As(err, &limited)
}
