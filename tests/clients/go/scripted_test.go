package tests

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

const admitted = "*5\r\n:1\r\n:9\r\n:0\r\n:900\r\n:0\r\n"

// Starts a server that answers each request, its words with blanks between them, as a function
// says, and closes the connection instead if it says "lost". Returns its address.
func startScripted(t *testing.T, answer func(request string) string) string {
	t.Helper()
	return startScriptedWith(t, nil, answer)
}

func startScriptedWith(
	t *testing.T, config *tls.Config, answer func(request string) string,
) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			go serveScripted(connection, config, answer)
		}
	}()
	return listener.Addr().String()
}

func serveScripted(connection net.Conn, config *tls.Config, answer func(string) string) {
	defer connection.Close()
	if config != nil {
		connection = tls.Server(connection, config)
	}
	requests := bufio.NewReader(connection)
	for {
		request, err := readRequest(requests)
		if err != nil {
			return
		}
		reply := answer(request)
		if reply == "lost" {
			return
		}
		if _, err := io.WriteString(connection, reply); err != nil {
			return
		}
	}
}

func readRequest(requests *bufio.Reader) (string, error) {
	count, err := readSize(requests)
	words := make([]string, 0, count)
	for ; err == nil && len(words) < count; err = readEnd(requests) {
		var size int
		if size, err = readSize(requests); err != nil {
			break
		}
		word := make([]byte, size)
		if _, err = io.ReadFull(requests, word); err != nil {
			break
		}
		words = append(words, string(word))
	}
	return strings.Join(words, " "), err
}

func readSize(requests *bufio.Reader) (int, error) {
	line, err := requests.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 2 {
		return 0, fmt.Errorf("no size: %q", line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func readEnd(requests *bufio.Reader) error {
	_, err := requests.Discard(len("\r\n"))
	return err
}
