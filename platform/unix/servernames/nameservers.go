// SPDX-License-Identifier: Apache-2.0

package servernames

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/blocklist"
	"sentinel/internal/lazyregexp"
	"sentinel/platform/unix/hostfile"
)

const (
	maxResolver = 16 << 20 // bytes of all files of one, in which lists of names that it refuses may be
	maxIncludes = 100      // patterns of files
	maxUpstream = 500      // servers of all
)

// A resolver is a kind of program that answers questions about names and asks other servers in turn.
type resolver struct {
	files    []string // as those of a source; what they include is looked for beside the first
	servers  func(text string) []string
	includes func(text string) []string // patterns of other files; nil for none
}

// resolvers are read whether they run or not: one that is off now may be the one that is started next.
var resolvers = []resolver{
	{[]string{"etc/unbound/unbound.conf", "etc/unbound/unbound.conf.d/*.conf"}, eachLine(unboundServers), eachLine(unboundIncludes)},
	{[]string{"etc/bind/named.conf", "etc/named.conf"}, bindServers, bindIncludes},
	{[]string{"etc/dnsmasq.conf", "etc/dnsmasq.d/*", "etc/NetworkManager/dnsmasq.d/*", "etc/NetworkManager/dnsmasq-shared.d/*", "etc/pihole/dnsmasq.conf"}, eachLine(dnsmasqServers), eachLine(dnsmasqIncludes)},
	{[]string{"etc/powerdns/recursor.conf", "etc/powerdns/recursor.d/*.conf", "etc/pdns-recursor/recursor.conf"}, eachLine(recursorServers), nil},
	{[]string{"etc/knot-resolver/kresd.conf"}, kresdServers, nil},
	{[]string{"etc/coredns/Corefile"}, eachLine(corednsServers), nil},
	{[]string{
		"etc/powerdns/recursor.yml", "etc/powerdns/recursor.d/*.yml", "etc/pdns-recursor/recursor.yml", "etc/knot-resolver/config.yaml", "etc/stubby/stubby.yml",
		"opt/AdGuardHome/AdGuardHome.yaml", "etc/adguardhome.yaml", "var/snap/adguard-home/current/AdGuardHome.yaml",
	}, yamlServers, nil},
}

// upstream lists the servers that resolvers on this machine ask. Their names are not needed: where
// nobody answers about one, the machine has no name server left to lose.
func upstream(root string) (list []blocklist.Server, err error) {
	for _, r := range resolvers {
		texts, readErr := r.read(root)
		err = errors.Join(err, readErr)
		for _, text := range texts {
			for _, word := range r.servers(text) {
				if list = appendServer(list, withoutPort(word), blocklist.Server{Why: blocklist.WhyUpstream}); len(list) > maxUpstream {
					return list[:maxUpstream], errors.Join(err, fmt.Errorf("/%s: names more than %d name servers", r.files[0], maxUpstream))
				}
			}
		}
	}
	return list, err
}

// read returns the content of the files that are there, and of those that they include.
func (r resolver) read(root string) (texts []string, err error) {
	patterns, left := slices.Clone(r.files), maxResolver
	for i := 0; i < len(patterns); i++ {
		if i == maxIncludes {
			return texts, errors.Join(err, fmt.Errorf("/%s: includes more than %d files", r.files[0], maxIncludes))
		}
		names, namesErr := expand(root, patterns[i])
		err = errors.Join(err, namesErr)
		for _, name := range names {
			raw, fileErr := hostfile.Read(filepath.Join(root, name), left)
			err = errors.Join(err, unread(name, fileErr))
			left -= len(raw)
			texts = append(texts, string(raw))
			patterns = r.include(patterns, string(raw))
		}
	}
	return texts, err
}

func (r resolver) include(patterns []string, text string) []string {
	if r.includes == nil {
		return patterns
	}
	for _, name := range r.includes(text) {
		if !path.IsAbs(name) {
			name = path.Join("/", path.Dir(r.files[0]), name)
		}
		name = path.Clean(name)[1:]
		if !slices.Contains(patterns, name) && len(patterns) <= maxIncludes {
			patterns = append(patterns, name)
		}
	}
	return patterns
}

// withoutPort leaves out what resolvers take behind an address besides ":port": "@853#name", "#53@eth0",
// "%eth0". What stands for a server in a stamp (sdns://) tells no address.
func withoutPort(word string) string {
	scheme, rest, isURL := strings.Cut(word, "://")
	end := "@#%"
	switch {
	case scheme == "sdns":
		return ""
	case isURL:
		word, end = rest, "#%/"
	}
	if i := strings.IndexAny(word, end); i >= 0 {
		word = word[:i]
	}
	return word
}

func eachLine(find func(line string) []string) func(string) []string {
	return func(text string) (all []string) {
		for line := range lines(text) {
			all = append(all, find(line)...)
		}
		return all
	}
}

// captured lists what the first group of a pattern holds, each time.
func captured(pattern *lazyregexp.Regexp, text string) (list []string) {
	for _, groups := range pattern.Get().FindAllStringSubmatch(text, -1) {
		list = append(list, groups[1])
	}
	return list
}

var (
	unboundServer  = lazyregexp.New(`\b(?:forward|stub)-(?:addr|host):\s*"?([^\s"]+)`)
	unboundInclude = lazyregexp.New(`\binclude(?:-toplevel)?:\s*"?([^\s"]+)`)
)

// unboundServers are those of unbound.conf(5), which takes several attributes in a line. Most lines of a
// long file refuse a name each.
func unboundServers(line string) []string {
	if !strings.Contains(line, "forward-") && !strings.Contains(line, "stub-") {
		return nil
	}
	return captured(unboundServer, line)
}

func unboundIncludes(line string) []string {
	if !strings.Contains(line, "include") {
		return nil
	}
	return captured(unboundInclude, line)
}

var (
	bindComment = lazyregexp.New(`(?s)"[^"\n]*"|/\*.*?(?:\*/|$)|(?://|#)[^\n]*`)
	bindBlock   = lazyregexp.New(`\b(?:forwarders|server-addresses)\b[^{};]*\{([^}]*)`)
	bindInclude = lazyregexp.New(`\binclude\s+"([^"\n]+)"`)
)

func withoutBINDComments(text string) string {
	return bindComment.Get().ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '"' {
			return found
		}
		return " "
	})
}

// bindServers are those of named.conf(5): an address is the first word of each part of a block.
func bindServers(text string) (list []string) {
	for _, block := range captured(bindBlock, withoutBINDComments(text)) {
		for part := range strings.SplitSeq(block, ";") {
			if fields := strings.Fields(part); len(fields) > 0 {
				list = append(list, strings.Trim(fields[0], `"`))
			}
		}
	}
	return list
}

func bindIncludes(text string) []string { return captured(bindInclude, withoutBINDComments(text)) }

// dnsmasqServers are those of dnsmasq(8), server=/domain/address, and of the files that resolv-file names.
func dnsmasqServers(line string) []string {
	switch key, value := setting(line); key {
	case "server", "local", "rev-server":
		return []string{strings.Trim(value[strings.LastIndexAny(value, "/,")+1:], `"`)}
	case "nameserver":
		return values(value)
	}
	return nil
}

func dnsmasqIncludes(line string) []string {
	key, value := setting(line)
	value, _, _ = strings.Cut(strings.Trim(value, `"`), ",")
	switch key {
	case "conf-file", "servers-file", "resolv-file":
		return []string{value}
	case "conf-dir":
		return []string{value + "/*"}
	}
	return nil
}

// recursorServers are those of the PowerDNS Recursor: "forward-zones = zone=address;address, zone=address".
func recursorServers(line string) (list []string) {
	key, value := setting(line)
	if !slices.Contains([]string{"forward-zones", "forward-zones-recurse"}, strings.TrimSuffix(key, "+")) {
		return nil
	}
	for _, word := range values(value) {
		list = append(list, word[strings.LastIndexByte(word, '=')+1:])
	}
	return list
}

var (
	kresdPolicy  = lazyregexp.New(`\bpolicy\.(?:TLS_FORWARD|FORWARD|STUB)\b\s*\(?([^)]*)`)
	kresdAddress = lazyregexp.New(`['"]([0-9a-fA-F.:]+)(?:@\d+)?['"]`)
)

// kresdServers are those of a configuration of Knot Resolver in Lua.
func kresdServers(text string) (list []string) {
	for _, arguments := range captured(kresdPolicy, text) {
		list = append(list, captured(kresdAddress, arguments)...)
	}
	return list
}

// corednsServers are those of "forward FROM TO... {".
func corednsServers(line string) []string {
	fields := strings.Fields(line)
	if fields[0] != "forward" {
		return nil
	}
	return slices.DeleteFunc(fields[min(2, len(fields)):], func(word string) bool { return word == "{" || strings.HasPrefix(word, "/") })
}

// yamlKeys are behind which Knot Resolver, the PowerDNS Recursor, Stubby and AdGuard Home have servers.
var yamlKeys = []string{"forwarders", "servers", "address", "address_data", "upstream_dns", "fallback_dns", "bootstrap_dns"}

// yamlServers reads line by line what these programs write: a value beside its key, or a list in the
// lines below it.
func yamlServers(text string) (list []string) {
	in := false
	for line := range lines(text) {
		item := strings.TrimSpace(strings.TrimPrefix(line, "-"))
		if key, value, found := strings.Cut(item+" ", ": "); found {
			in, item = slices.Contains(yamlKeys, key), value
		}
		if in {
			list = append(list, strings.FieldsFunc(item, func(r rune) bool { return strings.ContainsRune(" \t,'\"[]", r) })...)
		}
	}
	return list
}
