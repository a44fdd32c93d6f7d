// SPDX-License-Identifier: Apache-2.0

package servernames

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/blocklist"
	"sentinel/internal/testenv"
)

// found sums up servers: host, or service@domain, and why.
func found(list []blocklist.Server) map[string]string {
	all := map[string]string{}
	for _, s := range list {
		name := s.Host.String()
		if s.Service != "" {
			name = s.Service + "@" + name
		}
		all[name] = s.Why
	}
	return all
}

func TestServersThatFilesName(t *testing.T) {
	for _, c := range []struct {
		file, text, want, why string
	}{
		{"etc/sssd/sssd.conf", "[domain/x]\n# ldap_uri = ldap://192.0.2.1\nldap_uri = ldap://192.0.2.20, ldaps://ldap2.example:636/ , ldap://[2001:db8::20]\nkrb5_server=192.0.2.21:88,kdc.example\nad_hostname = self.example\n", "192.0.2.20 ldap2.example 2001:db8::20 192.0.2.21 kdc.example", whyDirectory},
		{"etc/sssd/conf.d/50.conf", "[domain/x]\n  ipa_server = ipa.example\n", "ipa.example", whyDirectory},
		{"var/lib/sss/pubconf/kdcinfo.EXAMPLE", "192.0.2.22:88\n[2001:db8::22]:88\n192.0.2.23\n2001:db8::23\n", "192.0.2.22 2001:db8::22 192.0.2.23 2001:db8::23", whyKerberos},
		{"etc/nslcd.conf", "uid nslcd\nuri ldap://192.0.2.24 ldapi:///\nuri\tldaps://ldap.example/\nbase dc=example\n", "192.0.2.24 ldap.example", whyDirectory},
		{"etc/ldap/ldap.conf", "#URI ldap://no.example\nURI ldap://192.0.2.25:1389/dc=example ldap://%2fvar%2frun\nHOST h.example\n", "192.0.2.25 h.example", whyDirectory},
		{"etc/samba/smb.conf", "[global]\n password server = dc1.example, *\n", "dc1.example", whyDirectory},
		{"etc/pam_radius_auth.conf", "# server[:port] secret timeout\n127.0.0.1 secret 1\nradius.example:1812 hunter2 3\n192.0.2.26\thunter2\n", "radius.example 192.0.2.26", whyRADIUS},
		{"etc/tacplus_servers", "secret=tac\nserver=192.0.2.27:49\n", "192.0.2.27", whyRADIUS},
		{"etc/chrony/chrony.conf", "pool 2.debian.pool.ntp.org iburst\nserver 0.debian.pool.ntp.org iburst\nserver ntp.example iburst\npeer 192.0.2.28 key 1\npool time.example iburst\nserver whirlpool.ntp.org\npool pool.ntp.org\n", "ntp.example 192.0.2.28 time.example whirlpool.ntp.org", whyTime},
		{"etc/systemd/timesyncd.conf", "[Time]\nNTP=192.0.2.29 ntp.example\n#FallbackNTP=a.example\n", "192.0.2.29 ntp.example", whyTime},
		{"run/systemd/netif/leases/2", "ADDRESS=192.0.2.10\nSERVER_ADDRESS=192.0.2.30\nROUTER=192.0.2.1\n", "192.0.2.30", whyDHCP},
		{"var/lib/NetworkManager/internal-1.lease", "ADDRESS=192.0.2.10\nNTP=192.0.2.29 192.0.2.30\n", "192.0.2.29 192.0.2.30", whyTime},
		{"var/lib/dhcp/dhclient.eth0.leases", "lease {\n  fixed-address 192.0.2.10;\n  option dhcp-server-identifier 192.0.2.31;\n}\n", "192.0.2.31", whyDHCP},
		{"etc/apt/apt.conf.d/proxy", "Acquire::http::Proxy \"http://ann:hunter2@proxy.example:3128/\";\nAcquire { https { Proxy \"https://192.0.2.32\"; } }\nAcquire::http::Proxy::deb.example \"DIRECT\";\nx \"http://mirror.example\";", "proxy.example 192.0.2.32", whyProxy},
		{"etc/environment", "https_proxy=http://192.0.2.33:3128\n", "192.0.2.33", whyProxy},
		{"etc/systemd/journal-upload.conf", "[Upload]\nURL=https://logs.example:19532\n", "logs.example", whyLogs},
		{"etc/rsyslog.d/90.conf", "*.* @@(o)192.0.2.34:514\nauth.* @[2001:db8::34]:514;fmt\n*.* action(type=\"omfwd\" target=\"log.example\" port=\"514\")\nmail.* -/var/log/mail.log\n*.emerg :omusrmsg:*\n", "192.0.2.34 2001:db8::34 log.example", whyLogs},
		{"etc/syslog-ng/conf.d/a.conf", "destination d { network(\"192.0.2.35\" port(514)); };\n", "192.0.2.35", whyLogs},
		{"etc/audit/audisp-remote.conf", "remote_server = 192.0.2.36\nport = 60\n", "192.0.2.36", whyLogs},
		{"etc/krb5.conf", "[libdefaults]\n default_realm = EXAMPLE\n[realms]\n OTHER = {\n  kdc = other.example\n }\n EXAMPLE = {\n  kdc = 192.0.2.37:88\n  admin_server = adm.example\n }\n[domain_realm]\n kdc = x.example\n", "192.0.2.37 adm.example", whyKerberos},
		{"etc/krb5.conf", "[libdefaults]\n default_realm = E\n[realms]\n E = {\n  auth_to_local_names = {\n   a = b\n   kdc = c\n  }\n  auth_to_local = RULE:[1:$1](.*){3}\n  kdc = tcp/192.0.2.37:88\n }\n F = {\n  kdc = f.example\n }\n", "192.0.2.37", whyKerberos},
		{"etc/krb5.conf", "[libdefaults]\n default_realm = EXAMPLE.ORG\n", "kerberos@example.org", whyKerberos},
		{"etc/krb5.conf", "[libdefaults]\n default_realm = EXAMPLE.ORG\n dns_lookup_kdc = false\n", "", ""},
		{"etc/sssd/sssd.conf", "[sssd]\ndomains = example.org\n[domain/example.org]\nid_provider = ad\nad_domain = ad.example.org\n", "ldap@ad.example.org", whyDirectory},
		{"etc/sssd/sssd.conf", "[domain/example.org]\nid_provider = ipa\nipa_server = _srv_, ipa.example\n", "ipa.example ldap@example.org", whyDirectory},
		{"etc/sssd/sssd.conf", "[domain/example.org]\nid_provider = ldap\ndns_discovery_domain = corp.example\n", "ldap@corp.example", whyDirectory},
		{"etc/sssd/sssd.conf", "[domain/example.org]\nid_provider = ldap\nldap_uri = ldap://192.0.2.20\n", "192.0.2.20", whyDirectory},
		{"etc/sssd/sssd.conf", "[domain/example.org]\nid_provider = ad\nkrb5_server = kdc.example\n", "kdc.example ldap@example.org", whyDirectory},
		{"etc/sssd/sssd.conf", "[domain/example.org]\nid_provider = files\n", "", ""},
		{"etc/samba/smb.conf", "[global]\nsecurity = ADS\nrealm = AD.EXAMPLE\n", "ldap@ad.example", whyDirectory},
		{"etc/samba/smb.conf", "[global]\nsecurity = user\nrealm = AD.EXAMPLE\n", "", ""},
	} {
		list, err := Read(testenv.Plant(t, map[string]string{c.file: c.text}))
		want := map[string]string{}
		for name := range strings.FieldsSeq(c.want) {
			want[name] = c.why
		}
		if diff := cmp.Diff(want, found(list)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.text, err, diff)
		}
		for _, s := range list {
			if s.Needed != strings.HasSuffix(s.Why, "which logins ask") || s.Announced == strings.HasPrefix(c.file, "etc/") {
				t.Errorf("%+v", s)
			}
		}
	}
}

func TestAddressesAreProtectedWithoutALookup(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"var/lib/dhcp/dhclient.leases": strings.Repeat("#", maxFile) + "\noption dhcp-server-identifier 192.0.2.30;\n", "etc/nslcd.conf": "uri ldap://192.0.2.20 ldap://ldap.example\n", "etc/ldap.conf": strings.Repeat("#", maxFile+1), "etc/sssd/sssd.conf": strings.Repeat("#", maxFile+1)})
	list, err := Addresses(root)
	lease := blocklist.Protect(netip.MustParseAddr("192.0.2.30"), whyDHCP)
	lease.Announced = true
	if diff := cmp.Diff([]blocklist.ProtectedAddr{blocklist.Protect(netip.MustParseAddr("192.0.2.20"), whyDirectory), lease}, list, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if err == nil || err.Error() != "/etc/sssd/sssd.conf: larger than expected\n/etc/ldap.conf: larger than expected" {
		t.Errorf("%v", err)
	}
	if list, err := Read(t.TempDir()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, errors.Unwrap(err))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("[realms]\n A = { kdc = b\n}\nuri ldap://[::1\nserver\n")
	f.Fuzz(func(t *testing.T, text string) {
		root := testenv.Plant(t, map[string]string{"etc/krb5.conf": text, "etc/sssd/sssd.conf": text, "etc/ldap.conf": text, "etc/ntp.conf": text, "etc/pam_radius.conf": text, "etc/rsyslog.conf": text})
		list, err := Read(root)
		if err != nil && len(text) <= maxFile {
			t.Error(err)
		}
		for _, s := range list {
			if s.Host.String() == "" || s.Host.Addr.IsLoopback() {
				t.Errorf("%q: %+v", text, s)
			}
		}
	})
}
