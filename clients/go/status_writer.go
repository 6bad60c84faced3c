package weir

import (
	"bufio"
	"errors"
	"net"
	"net/http"
)

// A statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int // 0: none yet
}

// WriteHeader is that of http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols { // else one follows
		w.setStatus(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write is that of http.ResponseWriter.
func (w *statusWriter) Write(text []byte) (int, error) {
	w.setStatus(http.StatusOK)
	return w.ResponseWriter.Write(text)
}

// Flush is that of http.Flusher.
func (w *statusWriter) Flush() {
	if flusher, ok := w.ResponseWriter.(http.Flusher); ok {
		w.setStatus(http.StatusOK)
		flusher.Flush()
	}
}

// Hijack is that of http.Hijacker.
func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, ok := w.ResponseWriter.(http.Hijacker); ok {
		w.setStatus(http.StatusSwitchingProtocols)
		return hijacker.Hijack()
	}
	return nil, nil, errors.New("weir: the connection of this response cannot be taken over")
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// The first one counts.
func (w *statusWriter) setStatus(status int) {
	if w.status == 0 {
		w.status = status
	}
}
