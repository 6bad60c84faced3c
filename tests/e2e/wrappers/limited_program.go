// Calls examples/go as the lines of its standard input say (limited_test.py).
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"limited"
)

type program struct {
	gate  *limited.Gate
	slice *limited.Slice
	ms    int64 // atomic, as timers read it
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return value
}

func (p *program) open(port, down string, deadlineMs int) {
	if p.gate != nil {
		p.gate.Close()
	}
	atomic.StoreInt64(&p.ms, 0)
	p.gate = limited.NewGate(limited.Options{
		Address:    "127.0.0.1:" + port,
		FailClosed: down == "closed",
		Deadline:   time.Duration(deadlineMs) * time.Millisecond,
		Now:        func() time.Time { return time.UnixMilli(atomic.LoadInt64(&p.ms)) },
	})
}

func (p *program) mail(to string, limits []string) (said string, err error) {
	err = p.gate.Limited(func() error {
		said = "to " + to
		return nil
	}, append([]string{"mail:" + to}, limits...)...)
	return said, err
}

func (p *program) flood(keys int) (string, error) {
	passed := 0
	for i := 0; i < keys; i++ {
		if p.gate.Check("flood:"+strconv.Itoa(i), "none") == nil {
			passed++
		}
	}
	return strconv.Itoa(passed), nil
}

func (p *program) crowd(threads, times int, words []string) (string, error) {
	var passed int64
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < times; i++ {
				ask := p.slice.Spend
				if len(words) > 0 {
					ask = func() error { return p.gate.Check(words...) }
				}
				if ask() == nil {
					atomic.AddInt64(&passed, 1)
				}
			}
		}()
	}
	group.Wait()
	return fmt.Sprint(passed), nil
}

func (p *program) call(name string, words []string) (string, error) {
	switch name {
	case "gate":
		p.open(words[0], words[1], number(words[2]))
	case "clock":
		atomic.AddInt64(&p.ms, int64(number(words[0])))
	case "check":
		return "passes", p.gate.Check(words...)
	case "mail":
		return p.mail(words[0], words[1:])
	case "slice":
		lasts := time.Duration(number(words[1])) * time.Millisecond
		p.slice = p.gate.Slice(number(words[0]), lasts, words[2:]...)
	case "spend":
		return "passes", p.slice.Spend()
	case "give_back":
		p.slice.GiveBack()
	case "flood":
		return p.flood(number(words[0]))
	case "crowd":
		return p.crowd(number(words[0]), number(words[1]), words[2:])
	}
	return "ok", nil
}

func main() {
	p := &program{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		said, err := p.call(words[0], words[1:])
		var denied *limited.Error
		switch {
		case errors.As(err, &denied) && denied.RetryAfter > 0:
			said = fmt.Sprint("limited ", denied.Key, " ", denied.RetryAfter.Milliseconds())
		case denied != nil:
			said = fmt.Sprint("limited ", denied.Key, " -")
		case err != nil:
			said = fmt.Sprint("mistake ", err)
		}
		fmt.Println(said)
	}
}
