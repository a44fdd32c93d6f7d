// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// MaxURL is the longest URL, in bytes.
const MaxURL = 2048

// A URL is a web address that data may be sent to: https, or http on this machine
// only.
type URL struct {
	host  Host
	whole url.URL
}

// ParseURL parses a URL. Every error is INVALID_URL. Whether the host's address is
// [Forbidden] is checked here only if the host is an address, not a name.
func ParseURL(text string) (URL, error) {
	if len(text) > MaxURL {
		return URL{}, fault.New(fault.InvalidURL, fmt.Sprintf("The URL is longer than %d characters.", MaxURL))
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Opaque != "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }) {
		return URL{}, fault.New(fault.InvalidURL, "It is not a URL of plain characters.")
	}
	switch {
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return URL{}, fault.New(fault.InvalidURL, "The URL does not begin with https://.")
	case parsed.User != nil || strings.Contains(parsed.Host, "@"):
		return URL{}, fault.New(fault.InvalidURL, "The URL holds a user name or a password, which would end up in logs.").
			WithFix("Leave them out. A configured endpoint takes them from a file: webhook.endpoints, authorization_file.")
	case parsed.Fragment != "":
		return URL{}, fault.New(fault.InvalidURL, "The URL has a part behind #, which is never sent.")
	}
	u := URL{whole: *parsed}
	if err := u.parseHost(); err != nil {
		return URL{}, err
	}
	return u, nil
}

// parseHost parses and checks host and port.
func (u *URL) parseHost() error {
	host, err := Parse(strings.TrimSuffix(u.whole.Hostname(), "."))
	if err != nil {
		return fault.New(fault.InvalidURL, "The host of the URL "+strings.TrimPrefix(err.Error(), `"" `))
	}
	port, err := strconv.ParseUint(u.whole.Port(), 10, 16)
	if u.whole.Port() != "" && (err != nil || port == 0) || strings.HasSuffix(u.whole.Host, ":") {
		return fault.New(fault.InvalidURL, "The port of the URL is not a number from 1 to 65535.")
	}
	u.host = host
	switch why := u.forbidden(); {
	case why != "":
		return fault.New(fault.InvalidURL, "Nothing is sent to "+host.String()+": it "+why+".").
			WithFix("Send it to a receiver of your own.")
	case u.whole.Scheme == "http" && !u.Local():
		return fault.New(fault.InvalidURL, "http:// is for receivers on this machine alone; everybody on the way could read it.").
			WithFix("Use https://, or http:// with 127.0.0.1, [::1] or localhost.")
	}
	u.whole.Host = u.Authority()
	return nil
}

func (u *URL) forbidden() string {
	if u.host.Addr.IsValid() {
		return Forbidden(u.host.Addr)
	}
	if slices.Contains(metadataNames(), u.host.Name) {
		return "is the metadata service of a cloud"
	}
	return ""
}

// Local reports whether the URL says itself that the host is this machine.
func (u *URL) Local() bool {
	return u.host.Addr.Unmap().IsLoopback() || u.host.Name == "localhost" || strings.HasSuffix(u.host.Name, ".localhost")
}

// Plain reports whether data is sent without encryption, which is allowed to this
// machine only.
func (u *URL) Plain() bool { return u.whole.Scheme == "http" }

// Authority returns the host, and the port unless it is the default of the scheme.
func (u *URL) Authority() string {
	name, port := u.host.String(), u.whole.Port()
	if port == map[string]string{"https": "443", "http": "80"}[u.whole.Scheme] {
		port = ""
	}
	switch {
	case port != "":
		return net.JoinHostPort(name, port)
	case u.host.Addr.Is6():
		return "[" + name + "]"
	default:
		return name
	}
}

// String returns the whole URL in a canonical form, so that equivalent URLs are
// equal. It may hold secrets; see [URL.Shown].
func (u *URL) String() string {
	whole := u.whole
	if whole.Path == "" {
		whole.Path = "/"
	}
	return whole.String()
}

// lookAlike are the characters of which a line without Markdown in it makes others that a URL may hold, in
// the form that means the same (RFC 3986, section 6.2.2.2) or that they are to have (appendix A).
var lookAlike = strings.NewReplacer("~", "%7E", "[", "%5B", "]", "%5D", "`", "%60")

// Readable returns the whole URL for a person who is asked about it: no two URLs to different places read
// the same. It may hold secrets, as [URL.String].
func (u *URL) Readable() string {
	host := u.whole.Scheme + "://" + u.Authority()
	return host + lookAlike.Replace(strings.TrimPrefix(u.String(), host))
}

// Shown returns the URL for documents and logs: without its query, which may hold
// keys, and without parts of its path that look like keys.
func (u *URL) Shown() string {
	text := u.whole.Scheme + "://" + u.Authority() + shownPath(u.whole.EscapedPath())
	text = sanitize.Reason(text, 300)
	if u.whole.RawQuery != "" {
		text += "?…"
	}
	return text
}

// Bounds above which a part of a path is taken for a key rather than a word.
const (
	wordLength = 16
	wordDigits = 4
)

// shownPath replaces the keys that many receivers put into the path of their URLs:
// long parts of letters and digits.
func shownPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		letters, digits := 0, 0
		for _, c := range []byte(part) {
			switch {
			case letter(c):
				letters++
			case c >= '0' && c <= '9':
				digits++
			}
		}
		if letters > 0 && digits >= wordDigits && letters+digits >= wordLength {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
}
