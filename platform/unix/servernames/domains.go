// SPDX-License-Identifier: Apache-2.0

package servernames

import (
	"cmp"
	"slices"
	"strings"

	"sentinel/internal/blocklist"
)

// discovered lists the servers of domains: those that a section of a realm names, and the domains whose
// servers the DNS tells.
func discovered(root string) ([]blocklist.Server, error) {
	realms, err := read(root, []string{"etc/krb5.conf", "etc/krb5.conf.d/*", "var/lib/sss/pubconf/krb5.include.d/*"})
	sssd, _ := read(root, sssdFiles)   //nolint:errcheck // it is told of the servers that they name
	samba, _ := read(root, sambaFiles) //nolint:errcheck // so is this
	list := kerberos(strings.Join(realms, "\n"))
	for _, domain := range append(domains(strings.Join(sssd, "\n")), member(strings.Join(samba, "\n"))) {
		list = appendServer(list, strings.ToLower(domain), blocklist.Server{Service: "ldap", Why: whyDirectory, Needed: true})
	}
	return list, err
}

// section returns the name of the section that a line begins.
func section(line string) (string, bool) {
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	name, _, _ := strings.Cut(line[1:], "]")
	return strings.ToLower(strings.TrimSpace(name)), true
}

// kerberos lists the servers of the default realm (krb5.conf(5)); the other realms of the file are
// examples more often than not. Where it names none, the DNS tells them.
func kerberos(text string) []blocklist.Server {
	known := map[string][]blocklist.Server{}
	own, realm, in, ask := "", "", "", true
	depth := 0 // of braces; the settings of a realm are in one
	for line := range lines(text) {
		name, begins := section(line)
		key, value := setting(line)
		switch {
		case begins:
			in, depth = name, 0
		case line[0] == '}':
			depth = max(0, depth-1)
		case value == "{":
			if depth == 0 {
				realm = key
			}
			depth++
		case in == "libdefaults" && key == "default_realm":
			own = strings.ToLower(value)
		case in == "libdefaults" && key == "dns_lookup_kdc":
			ask = !slices.Contains([]string{"false", "no", "0", "off", "n", "f", "nil"}, strings.ToLower(value))
		case in == "realms" && depth == 1 && slices.Contains([]string{"kdc", "master_kdc", "primary_kdc", "admin_server", "kpasswd_server"}, key):
			known[realm] = appendServer(known[realm], withoutTransport(value), blocklist.Server{Why: whyKerberos, Needed: true})
		}
	}
	if own != "" && len(known[own]) == 0 && ask {
		return appendServer(nil, own, blocklist.Server{Service: "kerberos", Why: whyKerberos, Needed: true})
	}
	return known[own]
}

// withoutTransport leaves out what Heimdal, which macOS has, takes before a host.
func withoutTransport(host string) string {
	for _, transport := range []string{"tcp/", "udp/", "http/"} {
		host = strings.TrimPrefix(host, transport)
	}
	return host
}

// domains lists those of SSSD whose servers it asks the DNS for: with "_srv_" among them, and where the
// setting of its kind of directory names none.
func domains(text string) (list []string) {
	settings, names := map[string]map[string]string{}, []string{}
	in := ""
	for line := range lines(text) {
		if name, begins := section(line); begins {
			in = name
			continue
		}
		if settings[in] == nil {
			settings[in], names = map[string]string{}, append(names, in)
		}
		key, value := setting(line)
		settings[in][key] = value
	}
	for _, name := range names {
		domain, found := strings.CutPrefix(name, "domain/")
		if s := settings[name]; found && asksDNS(s) {
			list = append(list, cmp.Or(s["dns_discovery_domain"], s["ad_domain"], s["ipa_domain"], domain))
		}
	}
	return list
}

// serverOf is the setting that names the servers of a kind of directory (sssd-ad(5), sssd-ipa(5), sssd-ldap(5)).
var serverOf = map[string]string{"ad": "ad_server", "ipa": "ipa_server", "ldap": "ldap_uri"}

func asksDNS(domain map[string]string) bool {
	servers := domain["ad_server"] + domain["ipa_server"] + domain["ldap_uri"] + domain["krb5_server"]
	key := serverOf[domain["id_provider"]]
	return strings.Contains(servers, "_srv_") || key != "" && domain[key] == ""
}

// member is the domain that Samba is a member of, "" for none (smb.conf(5)).
func member(text string) string {
	ads, realm := false, ""
	for line := range lines(text) {
		switch key, value := setting(line); key {
		case "security":
			ads = strings.EqualFold(value, "ads")
		case "realm":
			realm = value
		}
	}
	if !ads {
		return ""
	}
	return realm
}
