package weir

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"weir/client/internal/address"
)

const defaultDeadline = 50 * time.Millisecond

// Settings are the options of a Limiter, put together.
type settings struct {
	address       address.Address
	tls           *tls.Config
	onUnavailable func(cause string)
	clock         func() time.Time
	every         Every

	// In place of a URL:
	host       string
	port       int
	unixSocket string
	sentinels  []string
	master     string
}

// The settings of a URL, or of options in its place.
func newSettings(url *string, options []Option) (*settings, error) {
	s := &settings{clock: time.Now, every: every}
	if url != nil {
		found, err := address.Parse(*url)
		if err != nil {
			return nil, err
		}
		s.address = *found
	}
	for _, option := range options {
		if err := option(s); err != nil {
			return nil, err
		}
	}
	if err := s.setPlaces(url != nil); err != nil {
		return nil, err
	}
	if s.address.UsesTLS && s.address.Places[0].Path != "" {
		return nil, address.Mistake("a Unix socket has no TLS")
	}
	if s.address.Deadline == 0 {
		s.address.Deadline = defaultDeadline
	}
	if s.address.Fail == "" {
		s.address.Fail = "open"
	}
	return s, s.setTLS()
}

func (s *settings) setPlaces(hasURL bool) error {
	hasHost, hasSocket := s.host != "" || s.port != 0, s.unixSocket != ""
	hasSentinels := s.sentinels != nil
	switch {
	case hasURL && (hasHost || hasSocket || hasSentinels):
		return address.Mistake("a Limiter has a URL, or a host, a Unix socket, or Sentinels")
	case hasURL:
		return nil
	case hasHost && hasSocket, hasHost && hasSentinels, hasSocket && hasSentinels:
		return address.Mistake("a Limiter has a host, a Unix socket, or Sentinels")
	case hasSocket:
		s.address.Places = []address.Place{{Path: s.unixSocket}}
		return nil
	case hasSentinels:
		s.address.Master = s.master
		return s.addPlaces(address.SentinelPort, s.sentinels...)
	}
	host := s.host
	if host == "" {
		host = "127.0.0.1"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	if err := s.addPlaces(address.Port, host); err != nil || s.port == 0 {
		return err
	}
	s.address.Places[0].Port = s.port
	return nil
}

func (s *settings) addPlaces(port int, texts ...string) error {
	for _, text := range texts {
		place, err := address.ParsePlace(text, port)
		if err != nil {
			return err
		}
		s.address.Places = append(s.address.Places, place)
	}
	return nil
}

func (s *settings) setTLS() error {
	if s.tls != nil && s.address.CA != "" {
		return address.Mistake("both the URL and an option say the authorities: ca and TLS")
	}
	if !s.address.UsesTLS || s.tls != nil {
		return nil
	}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.address.CA == "" {
		return nil
	}
	text, err := os.ReadFile(s.address.CA)
	if err != nil {
		return fmt.Errorf("the certificates of the authorities: %w", err)
	}
	s.tls.RootCAs = x509.NewCertPool()
	if !s.tls.RootCAs.AppendCertsFromPEM(text) {
		return address.Mistake("the file of the authorities has no certificate")
	}
	return nil
}
