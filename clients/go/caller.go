package weir

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

const networkBits = 64 // of an IPv6 address: a user may have all of such a network

// CallerKey returns the key "ip:..." of a request, by which Middleware limits it: the address of
// its caller, as weir's own {ip} writes it. It is that of the connection; with trusted hops that
// entry of X-Forwarded-For, counted from the right.
//
// An IPv6 address counts as its network of 64 bits. But one that carries an IPv4 address is that
// one: mapped, translated (also by NAT64), 6to4 or compatible.
func CallerKey(r *http.Request, trustedHops int) (string, error) {
	text := r.RemoteAddr
	if trustedHops > 0 {
		var entries []string
		for _, value := range r.Header.Values("X-Forwarded-For") {
			entries = append(entries, strings.Split(value, ",")...)
		}
		if len(entries) < trustedHops {
			return "", &Mistake{
				fmt.Sprintf("X-Forwarded-For has fewer than %d entries", trustedHops)}
		}
		text = strings.Trim(entries[len(entries)-trustedHops], " \t")
	}
	network, ok := networkOf(text)
	if !ok {
		return "", &Mistake{"the request has no address to limit it by: pass a Key"}
	}
	return "ip:" + network, nil
}

// The IPv4 address, or the network of the IPv6 address, that counts as one caller.
func networkOf(text string) (string, bool) {
	text, ok := withoutPort(text)
	if !ok {
		return "", false
	}
	if strings.Contains(text, ":") {
		text, _, _ = strings.Cut(text, "%")
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return "", false
	}
	if address.Is4() {
		return address.String(), true
	}
	if carried, ok := carriedBy(address.As16()); ok {
		return carried.String(), true
	}
	prefix, err := address.Prefix(networkBits)
	return prefix.Addr().String(), err == nil
}

// The address of "address", "[address]", "address:port" or "[address]:port".
func withoutPort(text string) (string, bool) {
	address, port, hasPort := text, "", false
	switch {
	case strings.HasPrefix(text, "["):
		var rest string
		address, rest, hasPort = strings.Cut(text[1:], "]")
		if !hasPort || (rest != "" && rest[0] != ':') {
			return "", false
		}
		if hasPort = rest != ""; hasPort {
			port = rest[1:]
		}
	case strings.Count(text, ":") == 1:
		address, port, hasPort = strings.Cut(text, ":")
	}
	if hasPort && (port == "" || strings.Trim(port, "0123456789") != "") {
		return "", false
	}
	return address, !strings.ContainsAny(address, "[]")
}

// The IPv4 address within an IPv6 address, if there is one.
func carriedBy(bytes [16]byte) (netip.Addr, bool) {
	last := netip.AddrFrom4([4]byte{bytes[12], bytes[13], bytes[14], bytes[15]})
	switch string(bytes[:12]) {
	case "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff", // ::ffff:0:0/96, mapped
		"\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00", // ::ffff:0:0:0/96, translated
		"\x00\x64\xff\x9b\x00\x00\x00\x00\x00\x00\x00\x00": // 64:ff9b::/96, by NAT64
		return last, true
	case "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": // ::/96, compatible
		isPlain := last == netip.IPv4Unspecified() || last == netip.AddrFrom4([4]byte{0, 0, 0, 1})
		return last, !isPlain
	}
	if bytes[0] == 0x20 && bytes[1] == 0x02 { // 2002::/16, 6to4
		return netip.AddrFrom4([4]byte{bytes[2], bytes[3], bytes[4], bytes[5]}), true
	}
	return netip.Addr{}, false
}
