//go:build unix

package wire

import (
	"errors"
	"syscall"
	"time"
)

// How long it may take to read what TLS has sent of its own.
const ticketTime = time.Millisecond

// Returns whether an idle link has nothing to read, not even its end. TLS itself may have sent
// tickets, which are read. It may also have read a part of what follows a reply.
func (l *link) isQuiet() bool {
	open, hasBytes := l.peek()
	if !open || l.stream == l.socket {
		return open && !hasBytes
	}
	end := past // of reading what TLS has
	if hasBytes {
		end = time.Now().Add(ticketTime)
	}
	if l.stream.SetReadDeadline(end) != nil {
		return false
	}
	var buffer [1]byte
	n, err := l.stream.Read(buffer[:])
	return n == 0 && err != nil && lost(err).Cause == "timeout"
}

// Returns whether the socket is open, and has bytes to read.
func (l *link) peek() (open, hasBytes bool) {
	socket, ok := l.socket.(syscall.Conn)
	if !ok || l.socket.SetReadDeadline(time.Time{}) != nil { // that of the last call
		return false, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false, false
	}
	err = raw.Read(func(fd uintptr) bool {
		var buffer [1]byte
		n, _, err := syscall.Recvfrom(int(fd), buffer[:], syscall.MSG_PEEK)
		hasBytes = n > 0
		open = hasBytes || errors.Is(err, syscall.EAGAIN) // sockets of Go do not block
		return true
	})
	return open && err == nil, hasBytes
}
