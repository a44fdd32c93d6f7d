// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A Link is one reading of an address on the web: lower case where case means nothing, without
// user, default port, dot segments and fragment.
type Link struct {
	Scheme, Host, Port string // no port: that of the scheme
	Path               string // of a scheme with hosts; begins with "/"
	Rest               string // query, or all behind the scheme where it has no hosts
}

// String returns the canonical form.
func (l Link) String() string {
	if l.Host == "" {
		return l.Scheme + ":" + l.Path + l.Rest
	}
	s := l.Scheme + "://" + bracketed(l.Host)
	if l.Port != "" {
		s += ":" + l.Port
	}
	return s + l.Path + l.Rest
}

// defaultPorts are the schemes whose address browsers read leniently (WHATWG URL, "special
// scheme").
var defaultPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// rawURL is an address cut at its delimiters, nothing decoded.
type rawURL struct{ scheme, host, port, path, rest string }

// URL returns the addresses that text may mean. What browsers and the readers of RFC 3986 take for
// two different hosts is an error.
func URL(text string) ([]Link, error) {
	raw, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	if raw.host == "" {
		return opaque(raw)
	}
	if strings.ContainsAny(raw.path, unlike) {
		return nil, errUnlike
	}
	hosts, err := hostOnly(raw.host)
	if err != nil {
		return nil, err
	}
	paths, err := urlPaths(raw.path)
	if err != nil {
		return nil, err
	}
	rests, err := decodings(raw.rest)
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, host := range hosts {
		for _, p := range paths {
			for _, rest := range rests {
				links = append(links, Link{raw.scheme, host, raw.port, p, rest})
			}
		}
	}
	return links, nil
}

// opaque reads an address without a host, such as data: or file:///.
func opaque(raw rawURL) ([]Link, error) {
	paths, err := []string{""}, error(nil)
	if strings.HasPrefix(raw.path, "/") {
		paths, err = urlPaths(raw.path)
		raw.path = ""
	}
	if err != nil {
		return nil, err
	}
	rests, err := decodings(raw.path + raw.rest)
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, p := range paths {
		for _, rest := range rests {
			links = append(links, Link{Scheme: raw.scheme, Path: p, Rest: rest})
		}
	}
	return links, nil
}

// unlike are the characters that readers disagree about before the query: a browser takes a backslash
// for a slash, others end a path at a blank.
const unlike = " \\"

var errUnlike = errors.New("it holds a blank or a backslash, which not all read alike")

// parseURL cuts an address.
func parseURL(text string) (rawURL, error) {
	scheme, rest, ok := strings.Cut(text, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case hasControl(text):
		return rawURL{}, errControl
	case !ok || !isScheme(scheme):
		return rawURL{}, errors.New("it has no scheme")
	}
	rest, _, _ = strings.Cut(rest, "#")
	_, special := defaultPorts[scheme]
	if !strings.HasPrefix(rest, "//") {
		switch {
		case special:
			return rawURL{}, errors.New("it has no slashes before its host")
		case wraps(rest):
			return rawURL{}, errors.New("it is an address in an address")
		}
		p, query := cutAt(rest, "?")
		return rawURL{scheme: scheme, path: p, rest: query}, nil
	}
	authority, behind := cutAt(rest[2:], "/?")
	if strings.ContainsAny(authority, unlike) {
		return rawURL{}, errUnlike
	}
	p, query := cutAt(behind, "?")
	host, port, err := cutAuthority(authority, scheme)
	if err != nil {
		return rawURL{}, err
	}
	switch {
	case host == "" && special:
		return rawURL{}, errHost
	case scheme == "file" && (strings.EqualFold(host, "localhost") || host == "127.0.0.1"): // this one, which is none (RFC 8089)
		host = ""
	}
	return rawURL{scheme, host, port, p, query}, nil
}

// wraps says whether what follows a scheme is an address of its own, as in view-source:https:, and
// in url:https:, which Java and Python take away.
func wraps(rest string) bool {
	inner, behind, _ := strings.Cut(rest, ":")
	inner = strings.ToLower(strings.TrimPrefix(inner, "<"))
	_, special := defaultPorts[inner]
	return special || inner == "file" || isScheme(inner) && strings.HasPrefix(behind, "//")
}

// cutAt cuts text before the first of the bytes in set.
func cutAt(text, set string) (before, from string) {
	if at := strings.IndexAny(text, set); at >= 0 {
		return text[:at], text[at:]
	}
	return text, ""
}

func isScheme(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == ""
}

// cutAuthority takes the user and the port away.
func cutAuthority(authority, scheme string) (host, port string, err error) {
	// A second "@" makes no host of what is left.
	if at := strings.IndexByte(authority, '@'); at >= 0 {
		authority = authority[at+1:]
	}
	host = authority
	if at := strings.LastIndexByte(authority, ':'); at > strings.LastIndexByte(authority, ']') {
		host, port = authority[:at], authority[at+1:]
	}
	if port == "" {
		return host, "", nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strings.HasPrefix(port, "+") {
		return "", "", errors.New("its port is no number")
	}
	if port = strconv.FormatUint(n, 10); port == defaultPorts[scheme] {
		port = ""
	}
	return host, port, nil
}

// urlPaths returns the paths that a server may see, without dot segments: also those of servers that
// take ";name=value" out of each segment before (RFC 3986, 3.3; servlets).
func urlPaths(raw string) ([]string, error) {
	decoded, err := decodings(raw)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, p := range decoded {
		if strings.ContainsRune(p, 0) {
			return nil, errZero
		}
		slashed := strings.ReplaceAll(p, `\`, "/")
		for _, way := range []string{p, slashed, parameters.ReplaceAllString(slashed, "")} {
			all = add(all, cleanPath(way), withoutDots(way))
		}
	}
	return all, nil
}

var parameters = regexp.MustCompile(`;[^/]*`)

// withoutDots takes dot segments away as browsers do (RFC 3986, 5.2.4), to whom the nothing between two
// slashes is a segment as well: /admin//.. is /admin/.
func withoutDots(p string) string {
	var kept []string
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, segment := range segments {
		dots := segment == "." || segment == ".."
		if segment == ".." {
			kept = kept[:max(0, len(kept)-1)]
		}
		if !dots {
			kept = append(kept, segment)
		} else if i == len(segments)-1 {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

func cleanPath(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && clean != "/" {
		clean += "/"
	}
	return clean
}

// An Area is a part of the web: a scheme, a host or those below one, a port, and a path with all
// below it.
type Area struct {
	scheme, host, port, path string
}

// ParseArea reads "https://example.org/api", or "https://*.example.org" for the hosts below it.
func ParseArea(text string) (Area, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Area{}, errors.New("it has no scheme")
	}
	rest, below := strings.CutPrefix(rest, "*.")
	links, err := URL(scheme + "://" + rest)
	if err != nil {
		return Area{}, err
	}
	l := links[0]
	if l.Host == "" || l.Rest != "" || len(links) != 1 {
		return Area{}, errors.New("it must be a scheme, a host and a path")
	}
	if below {
		l.Host = "." + l.Host
	}
	return Area{l.Scheme, l.Host, l.Port, strings.TrimSuffix(l.Path, "/")}, nil
}

// Has says whether the link leads into the area.
func (a Area) Has(l Link) bool {
	host := l.Host == a.host || strings.HasPrefix(a.host, ".") && strings.HasSuffix(l.Host, a.host)
	return l.Scheme == a.scheme && host && l.Port == a.port && (l.Path == a.path || strings.HasPrefix(l.Path, a.path+"/"))
}
