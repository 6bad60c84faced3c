package weir

import "time"

// Every calls a function again and again. It returns a function that ends that, and is called once.
type Every func(period time.Duration, call func()) (stop func())

func every(period time.Duration, call func()) func() {
	ticker, stopped := time.NewTicker(period), make(chan struct{})
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				call()
			case <-stopped:
				return
			}
		}
	}()
	return func() { close(stopped) }
}
