// Takes tokens with weir/client at the primary that Sentinel names; client_programs.py says how.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	weir "weir/client"

	"golang.org/x/sys/unix"
)

const pace = 2 * time.Millisecond

func main() {
	sentinels := strings.Fields(os.Getenv("WEIR_SENTINELS"))
	limiter, err := weir.NewWith(weir.Sentinels(os.Getenv("WEIR_GROUP"), sentinels...),
		weir.Deadline(time.Second), weir.FailClosed(), weir.OnUnavailable(func(string) {}))
	if err != nil {
		panic(err)
	}
	fmt.Println("version", weir.Version)
	keys := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			keys <- lines.Text()
		}
		close(keys)
	}()
	key, isOpen := <-keys
	for isOpen {
		select {
		case key, isOpen = <-keys:
		case <-time.After(pace):
			fmt.Println(ask(limiter, key))
		}
	}
}

func ask(limiter *weir.Limiter, key string) string {
	invoked := now()
	d, err := limiter.Allow(context.Background(), key, os.Getenv("WEIR_LIMIT"))
	switch {
	case err != nil:
		return fmt.Sprintf("refused %s %v", key, err)
	case d.Reason != weir.ReasonUnavailable:
		tokens := 0
		if d.Allowed {
			tokens = 1
		}
		return fmt.Sprintf("took %s %d %d %d", key, tokens, invoked, now())
	}
	switch d.Cause {
	case "timeout", "connection", "noprimary":
		return fmt.Sprintf("failed %s %s", key, d.Cause)
	}
	return fmt.Sprintf("refused %s %s", key, strings.ToUpper(d.Cause))
}

// The monotonic clock, in nanoseconds.
func now() int64 {
	var time unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &time); err != nil {
		panic(err)
	}
	return time.Nano()
}
