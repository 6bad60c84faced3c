package tests

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	weir "weir/client"
)

// The files of an authority, and of a certificate for 127.0.0.1 that it has issued.
type certificates struct{ authority, certificate, key string }

func newCertificates(t *testing.T) certificates {
	t.Helper()
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	newKey := func(name string) []string {
		return []string{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
			"-keyout", file(name), "-subj", "/CN=" + name}
	}
	run := func(words ...string) {
		t.Helper()
		if said, err := exec.Command("openssl", words...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
	}
	run(append([]string{"req", "-x509", "-days", "1", "-out", file("ca.pem")},
		newKey("ca.key")...)...)
	run(append([]string{"req", "-new", "-addext", "subjectAltName=IP:127.0.0.1",
		"-out", file("server.csr")}, newKey("server.key")...)...)
	run("x509", "-req", "-in", file("server.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key"),
		"-copy_extensions", "copy", "-days", "1", "-out", file("server.pem"))
	return certificates{file("ca.pem"), file("server.pem"), file("server.key")}
}

func startTLS(t *testing.T, files certificates, options ...string) *server {
	t.Helper()
	port := freePort(t)
	s := start(t, append(options, fmt.Sprint("--tls-port=", port), "--tls-cert="+files.certificate,
		"--tls-key="+files.key, "--tls-ca="+files.authority)...)
	s.tlsPort = port
	return s
}

func (s *server) tlsURL(host, ca string) string {
	url := fmt.Sprintf("rediss://%s:%d", host, s.tlsPort)
	if ca != "" {
		url += "?ca=" + ca
	}
	return url
}

func TestTLS(t *testing.T) {
	files := newCertificates(t)
	s := startTLS(t, files)
	pair, err := tls.LoadX509KeyPair(files.certificate, files.key)
	check(t, err)
	text, err := os.ReadFile(files.authority)
	check(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}
	l := patient(t, fmt.Sprintf("redis://127.0.0.1:%d", s.tlsPort), weir.TLS(config))
	for i := int64(9); i > 0; i-- {
		equal(t, allow(t, l, "k", "9/h").Reason, weir.ReasonAllowed)
	}
}

// Goal: a first connection that takes longer than the deadline is there for a later call.
func TestTLSWithinTheDeadlineOfALaterCall(t *testing.T) {
	files := newCertificates(t)
	s := startTLS(t, files, "--tls-auth-clients=optional")
	l := limiter(t, s.tlsURL("127.0.0.1", files.authority), weir.Deadline(time.Millisecond), silent)
	awaitTrue(t, "an answer", func() bool {
		return allow(t, l, "k", "100/h,cost=0").Reason == weir.ReasonAllowed
	})
}

func TestACertificateOfAnotherNameOrAuthority(t *testing.T) {
	files := newCertificates(t)
	s := startTLS(t, files, "--tls-auth-clients=optional")
	equal(t, allow(t, patient(t, s.tlsURL("127.0.0.1", files.authority)), "k", "1/s").Reason,
		weir.ReasonAllowed)
	otherName, otherAuthority := s.tlsURL("localhost", files.authority), s.tlsURL("127.0.0.1", "")
	for _, url := range []string{otherName, otherAuthority} {
		l := patient(t, url, weir.FailClosed(), silent)
		err := l.Verify(background)
		var away *weir.Unavailable
		if !errors.As(err, &away) || !strings.Contains(err.Error(), "certificate") {
			t.Fatal(err)
		}
		equal(t, allow(t, l, "k", "1/s").Cause, "connection")
	}
}

func TestPlainTextToAPortOfTLS(t *testing.T) {
	s := startTLS(t, newCertificates(t))
	l := patient(t, fmt.Sprintf("redis://127.0.0.1:%d", s.tlsPort))
	err := l.Verify(background)
	var away *weir.Unavailable
	if !errors.As(err, &away) {
		t.Fatal(err)
	}
}

func TestAServerThatIsStoppedWithTLS(t *testing.T) {
	files := newCertificates(t)
	s := startTLS(t, files, "--tls-auth-clients=optional")
	url := s.tlsURL("127.0.0.1", files.authority)
	l := limiter(t, url, weir.Deadline(500*time.Millisecond), silent)
	awaitTrue(t, "an answer", func() bool {
		return allow(t, l, "k", "100/h,cost=0").Reason == weir.ReasonAllowed
	})
	s.pause(t)
	for i := 0; i < 2; i++ {
		begin := time.Now()
		equal(t, allow(t, l, "k", "100/h,cost=0").Cause, "timeout")
		equal(t, time.Since(begin) < bound, true)
	}
}

func TestTheFileOfTheAuthorities(t *testing.T) {
	_, err := weir.New("rediss://127.0.0.1?ca=" + write(t, "nothing"))
	isMistake(t, err, "no certificate")
	_, err = weir.New("rediss://127.0.0.1?ca=/nowhere")
	equal(t, errors.Is(err, os.ErrNotExist), true)
	_, err = weir.New("rediss://127.0.0.1?ca=/nowhere", weir.TLS(&tls.Config{}))
	isMistake(t, err, "authorities")
	l, err := weir.New("rediss://127.0.0.1", weir.TLS(&tls.Config{}))
	check(t, err)
	check(t, l.Close())
}
