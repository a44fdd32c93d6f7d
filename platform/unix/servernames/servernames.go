// SPDX-License-Identifier: Apache-2.0

// Package servernames reads which servers the configuration of a machine names: those without which
// nobody could log in to it, or it would lose its names, its clock, its address, its updates or its logs.
package servernames

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/blocklist"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/target"
	"sentinel/platform/unix/hostfile"
)

const (
	maxFile  = 256 << 10 // bytes of a file
	maxFiles = 100       // in one directory
)

// A source is a kind of configuration.
type source struct {
	why    string
	needed bool
	files  []string // patterns of path.Match in their last part
	find   func(line string) []string
}

// Why the servers of a configuration are protected.
const (
	whyDirectory = "a directory server of this machine, which logins ask"
	whyKerberos  = "a Kerberos server of this machine, which logins ask"
	whyRADIUS    = "a RADIUS or TACACS+ server of this machine, which logins ask"
	whyTime      = "a time server of this machine"
	whyDHCP      = "the DHCP server of this machine"
	whyProxy     = "the proxy of this machine's downloads"
	whyLogs      = "a receiver of this machine's logs"
)

// What is read for the servers that it names, and for the domains whose servers the DNS tells.
var (
	sssdFiles  = []string{"etc/sssd/sssd.conf", "etc/sssd/conf.d/*.conf"}
	sambaFiles = []string{"etc/samba/smb.conf"}
)

// sources are those that are read line by line.
var sources = []source{
	{whyDirectory, true, sssdFiles, keys(
		"ldap_uri", "ldap_backup_uri", "ldap_chpass_uri", "ldap_chpass_backup_uri", "krb5_server", "krb5_backup_server", "krb5_kpasswd", "krb5_backup_kpasswd",
		"ad_server", "ad_backup_server", "ipa_server", "ipa_backup_server")},
	{whyDirectory, true, []string{"etc/nslcd.conf", "etc/ldap.conf", "etc/ldap/ldap.conf", "etc/openldap/ldap.conf", "etc/libnss-ldap.conf", "etc/pam_ldap.conf"}, keys("uri", "host")},
	{whyDirectory, true, sambaFiles, keys("password server", "wins server")},
	{whyRADIUS, true, []string{"etc/pam_radius_auth.conf", "etc/pam_radius.conf", "etc/raddb/server"}, firstWord},
	{whyRADIUS, true, []string{"etc/tacplus_servers", "etc/tacplus_nss.conf"}, keys("server")},
	{whyTime, false, []string{"etc/chrony.conf", "etc/chrony/chrony.conf", "etc/chrony/conf.d/*.conf", "etc/chrony/sources.d/*.sources", "etc/ntp.conf", "etc/ntpsec/ntp.conf"}, firstOf("server", "peer", "pool")},
	{whyTime, false, []string{"etc/systemd/timesyncd.conf", "etc/systemd/timesyncd.conf.d/*.conf"}, keys("ntp", "fallbackntp")},
	{whyProxy, false, []string{"etc/environment", "etc/apt/apt.conf", "etc/apt/apt.conf.d/*", "etc/dnf/dnf.conf", "etc/yum.conf", "etc/sysconfig/proxy", "etc/wgetrc"}, matches(`(?i)proxy.*?\b(?:https?|socks\w*)://([^\s"';]+)`)},
	{whyLogs, false, []string{"etc/systemd/journal-upload.conf", "etc/systemd/journal-upload.conf.d/*.conf", "etc/audit/audisp-remote.conf", "etc/audisp/audisp-remote.conf"}, keys("url", "remote_server")},
	{whyLogs, false, []string{"etc/rsyslog.conf", "etc/rsyslog.d/*.conf", "etc/syslog.conf"}, matches(`\s@@?(?:\([^)]*\))?([^\s;@"]+)|(?i)\btarget="([^"]+)"`)},
	{whyLogs, false, []string{"etc/syslog-ng/syslog-ng.conf", "etc/syslog-ng/conf.d/*.conf"}, matches(`\b(?:network|syslog|tcp6?|udp6?)\s*\(\s*"([^"]+)"`)},
}

// announced hold what other hosts have said: whoever answered for DHCP, and, of the addresses that SSSD asks at
// the moment (sssd_krb5_locator_plugin(8)), the name servers.
var announced = []source{
	{whyKerberos, true, []string{"var/lib/sss/pubconf/kdcinfo.*", "var/lib/sss/pubconf/kpasswdinfo.*"}, whole},
	{whyTime, false, leases, keys("ntp")},
	{whyDHCP, false, leases, keys("server_address")},
	{whyDHCP, false, []string{"var/lib/dhcp/dhclient*.leases", "var/lib/dhclient/dhclient*.leases"}, matches(`dhcp-server-identifier\s+([^\s;]+)`)},
}

var leases = []string{"run/systemd/netif/leases/*", "var/lib/NetworkManager/internal-*.lease"}

// Read lists the servers that the files below root name. The error says which of those that tell of
// needed servers, or of the name servers of a resolver, could not be read.
func Read(root string) ([]blocklist.Server, error) {
	list, err := upstream(root)
	configured, configuredErr := named(root, sources, false)
	told, toldErr := named(root, announced, true)
	domains, domainsErr := discovered(root)
	return slices.Concat(list, configured, told, domains), errors.Join(err, configuredErr, toldErr, domainsErr)
}

// named lists the servers that files of these kinds name, each once. Those that are not needed forbid no block where they
// cannot be read.
func named(root string, sources []source, announced bool) (list []blocklist.Server, err error) {
	for _, s := range sources {
		texts, readErr := read(root, s.files)
		if s.needed {
			err = errors.Join(err, readErr)
		}
		for _, text := range texts {
			for line := range lines(text) {
				for _, word := range s.find(line) {
					list = appendServer(list, word, blocklist.Server{Why: s.why, Needed: s.needed, Announced: announced})
				}
			}
		}
	}
	return list, err
}

// Addresses protects those that the files give as addresses. The error is that of [Read].
func Addresses(root string) (protected []blocklist.ProtectedAddr, err error) {
	list, err := Read(root)
	for _, s := range list {
		if s.Host.Addr.IsValid() {
			protected = append(protected, s.At(s.Host.Addr))
		}
	}
	return protected, err
}

// Lookup protects those that the files give as names. What [Read] could not read is not its error.
func Lookup(ctx context.Context, root string, names blocklist.Lookup) ([]blocklist.ProtectedAddr, error) {
	list, _ := Read(root) //nolint:errcheck // Addresses tells it
	list = slices.DeleteFunc(list, func(s blocklist.Server) bool { return s.Host.Addr.IsValid() })
	return blocklist.ProtectServers(ctx, names, list)
}

// read returns the content of the files that are there.
func read(root string, patterns []string) (texts []string, err error) {
	for _, pattern := range patterns {
		names, namesErr := expand(root, pattern)
		err = errors.Join(err, namesErr)
		for _, name := range names {
			at := filepath.Join(root, name)
			raw, fileErr := hostfile.Read(at, maxFile)
			if errors.Is(fileErr, hostfile.ErrTooLarge) { // leases are appended for months
				raw, _, _ = hostfile.Tail(at, maxFile) //nolint:errcheck // it is told that not all was read
			}
			err = errors.Join(err, unread(name, fileErr))
			texts = append(texts, string(raw))
		}
	}
	return texts, err
}

// expand lists the files below root that a pattern names, without looking at them.
func expand(root, pattern string) ([]string, error) {
	directory, last := path.Split(pattern)
	if !strings.Contains(last, "*") {
		return []string{pattern}, nil
	}
	names, err := hostfile.Names(filepath.Join(root, directory), maxFiles)
	names = slices.DeleteFunc(names, func(n string) bool { fits, bad := path.Match(last, n); return bad != nil || !fits })
	for i := range names {
		names[i] = directory + names[i]
	}
	return names, unread(directory, err)
}

func unread(name string, err error) error {
	if err == nil || hostfile.Missing(err) || errors.Is(err, hostfile.ErrNotRegular) {
		return nil
	}
	return fmt.Errorf("/%s: %w", name, hostfile.Reason(err))
}

// lines yields the lines of a configuration without blanks around them, comments and empty ones.
func lines(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, " #")
			line = strings.TrimSpace(line)
			if line != "" && !strings.ContainsRune("#;!", rune(line[0])) && !strings.HasPrefix(line, "//") && !yield(line) {
				return
			}
		}
	}
}

// setting splits "key = value" and "key value". A key may have blanks in it before an equals sign.
func setting(line string) (key, value string) {
	key, value, found := strings.Cut(line, "=")
	if !found {
		return firstField(line)
	}
	return strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
}

func firstField(line string) (key, value string) {
	fields := strings.Fields(line)
	return strings.ToLower(fields[0]), strings.Join(fields[1:], " ")
}

// values returns the words of a value.
func values(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,;\"'", r) })
}

func keys(names ...string) func(string) []string {
	return func(line string) []string {
		key, value := setting(line)
		if !slices.Contains(names, key) { // "uri ldap://h/dc=example"
			key, value = firstField(line)
		}
		if !slices.Contains(names, key) {
			return nil
		}
		return values(value)
	}
}

// firstOf is for keys with one host and options behind it.
func firstOf(names ...string) func(string) []string {
	all := keys(names...)
	return func(line string) []string {
		words := all(line)
		return words[:min(len(words), 1)]
	}
}

func firstWord(line string) []string { return strings.Fields(line)[:1] }

func whole(line string) []string { return []string{line} }

// matches is for what a pattern captures, once a line.
func matches(pattern string) func(string) []string {
	compiled := lazyregexp.New(pattern)
	return func(line string) []string {
		groups := compiled.Get().FindStringSubmatch(line)
		return groups[min(len(groups), 1):]
	}
}

// pool are the names that give other addresses each time.
const pool = "pool.ntp.org"

// appendServer adds the host of a word, if it is one: an address, a name or a URL, with a port or
// without.
func appendServer(list []blocklist.Server, word string, s blocklist.Server) []blocklist.Server {
	if _, rest, found := strings.Cut(word, "://"); found {
		word = rest
	}
	word, _, _ = strings.Cut(word, "/")
	word = word[strings.LastIndexByte(word, '@')+1:]
	host, err := target.Parse(strings.Trim(word, "[]"))
	if err != nil {
		if i := strings.LastIndexByte(word, ':'); i > 0 {
			host, err = target.Parse(strings.Trim(word[:i], "[]"))
		}
	}
	local := host.Name == "localhost" || host.Addr.IsLoopback()
	if s.Host = host; err != nil || local || s.Service != "" && host.Addr.IsValid() || host.Name == pool || strings.HasSuffix(host.Name, "."+pool) || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
