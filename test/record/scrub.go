// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"regexp"
	"strings"
)

// identity lists what names this Mac and its user, and what stands in its place.
func identity() []string {
	var pairs []string
	add := func(secret, stand string) {
		if len(secret) > 2 {
			pairs = append(pairs, secret, stand)
		}
	}
	if name, err := os.Hostname(); err == nil {
		add(name, "mac.example.com")
		short, _, _ := strings.Cut(name, ".")
		add(short, "mac")
	}
	for _, name := range []string{os.Getenv("SUDO_USER"), userName()} {
		if name != "root" {
			add(name, "alice")
		}
	}
	return pairs
}

func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

var (
	mac    = regexp.MustCompile(`\b[0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2}){5}\b`)
	ip4    = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ip6    = regexp.MustCompile(`\b[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}\b`)
	uuid   = regexp.MustCompile(`\b[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\b`)
	serial = regexp.MustCompile(`((?i:serial[ _]number|serial_num|IOPlatformSerialNumber|provisioning[ _]udid)[^A-Z0-9\n]*)([A-Z0-9-]{8,})`)
)

// newScrubber returns a function that replaces what tells one Mac from another by
// documentation values of the same form; the same value becomes the same one again.
func newScrubber(pairs []string) func([]byte) []byte {
	names := strings.NewReplacer(pairs...)
	seen := map[string]string{}
	next := func(text, form string) string {
		if _, ok := seen[text]; !ok {
			seen[text] = fmt.Sprintf(form, len(seen)%200+1)
		}
		return seen[text]
	}
	return func(raw []byte) []byte {
		text := names.Replace(string(raw))
		text = uuid.ReplaceAllStringFunc(text, func(s string) string { return next(s, "00000000-0000-4000-8000-%012d") })
		text = serial.ReplaceAllString(text, "${1}XXXXXXXXXX")
		text = mac.ReplaceAllStringFunc(text, func(s string) string { return next(s, "00:00:5e:00:53:%02x") })
		text = ip4.ReplaceAllStringFunc(text, func(s string) string { return address(s, next, "198.51.100.%d") })
		text = ip6.ReplaceAllStringFunc(text, func(s string) string { return address(s, next, "2001:db8::%x") })
		return []byte(text)
	}
}

// address replaces an address that says where the Mac is. Loopback, unspecified,
// multicast and link-local ones and masks say nothing, and a version number is no address.
func address(text string, next func(string, string) string, form string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || strings.HasPrefix(text, "255.") {
		return text
	}
	if a.Is6() && a.IsLinkLocalUnicast() {
		return next(text, "fe80::%x")
	}
	return next(text, form)
}
