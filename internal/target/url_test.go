// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/netip"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestURLsThatAreUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com":               "https://hooks.example.com/",
		"HTTPS://Hooks.Example.COM.:443/a?b=c":    "https://hooks.example.com/a?b=c",
		"https://192.0.2.7:8443/x":                "https://192.0.2.7:8443/x",
		"https://[2001:db8::7]/x":                 "https://[2001:db8::7]/x",
		"https://[::ffff:192.0.2.7]:443/x":        "https://192.0.2.7/x",
		"http://127.0.0.1:8080/":                  "http://127.0.0.1:8080/",
		"http://[::1]:80":                         "http://[::1]/",
		"http://localhost:9/":                     "http://localhost:9/",
		"https://10.0.0.7/":                       "https://10.0.0.7/",
		"https://localhost/":                      "https://localhost/",
		"https://hooks.example.com/%7Eme/a%2Fb?q": "https://hooks.example.com/%7Eme/a%2Fb?q",
	} {
		u, err := ParseURL(text)
		if err != nil || u.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, u.String(), err, want)
		}
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "x", "//example.com", "https:", "https://", "https:///x", "https:example.com", "file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "javascript:alert(1)",
		"http://example.com/", "http://192.0.2.7/", "http://10.0.0.7/", "http://[2001:db8::7]/", "http://localhost.example.com/",
		"https://user@example.com/", "https://user:secret@example.com/", "https://:secret@example.com/", "https://@example.com/", "https://example.com\\@192.0.2.7/",
		"http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "https://169.254.0.1/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/", "https://[::ffff:169.254.169.254]/",
		"https://[::ffff:a9fe:a9fe]/", "https://[64:ff9b::a9fe:a9fe]/", "https://[64:ff9b:1::a9fe:a9fe]/", "https://[2002:a9fe:a9fe::1]/", "https://[::169.254.169.254]/",
		"https://[2001:db8::5efe:a9fe:a9fe]/", "https://[2001:db8::200:5efe:a9fe:a9fe]/", "https://[fd00:ec2::254]/", "https://[fd20:ce::254]/", "https://100.100.100.200/", "https://192.0.0.192/", "https://168.63.129.16/",
		"https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/", "https://[2002:7f00:1::]/", "https://[2001:0:a9fe:a9fe::1]/", "https://0.0.0.0/", "https://[::]/", "https://0.1.2.3/", "https://224.0.0.1/", "https://[ff02::1]/",
		"https://255.255.255.255/", "https://240.0.0.1/", "https://2852039166/", "https://0xa9fea9fe/", "https://0251.0376.0251.0376/", "https://169.254.43518/", "https://127.1/", "https://1.2.3.4.5/",
		"https://metadata.google.internal/", "https://METADATA.google.internal./", "https://metadata/", "https://instance-data/", "https://metadata.azure.internal/",
		"https://example.com:0/", "https://example.com:65536/", "https://example.com:/", "https://example.com:-1/", "https://example.com:80:80/", "https://example.com:https/",
		"https://example.com/#part", "https://exa mple.com/", "https://example.com/a b", "https://example.com/\r\nX: y", "https://example.com/\x00", "https://exämple.com/", "https://example.com/ä",
		"https://-x.example.com/", "https://a_b.example.com/", "https://*.example.com/", "https://" + strings.Repeat("a.", 200) + "com/", "https://example.com/" + strings.Repeat("a", MaxURL),
		" https://example.com/", "https://example.com/ ", "https://[::1/", "https://example.com/%zz",
	} {
		u, err := ParseURL(text)
		if err == nil || fault.From(err).Code != fault.InvalidURL {
			t.Errorf("%.80q: %q, %v", text, u.String(), err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", text, err)
		}
	}
}

func TestReadableURLsKeepWhatIsAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"https://Hooks.example.com":                        "https://hooks.example.com/",
		"https://hooks.example.com/~mallory/in?a=~*[1]`&":  "https://hooks.example.com/%7Emallory/in?a=%7E*%5B1%5D%60&",
		"https://hooks.example.com/-mallory/%7Ein_x?t=a@b": "https://hooks.example.com/-mallory/%7Ein_x?t=a@b",
		"https://[2001:db8::7]:8443/[x]*":                  "https://[2001:db8::7]:8443/%5Bx%5D*",
	} {
		u, err := ParseURL(text)
		if err != nil || u.Readable() != want {
			t.Errorf("%s: %v, %v; want %s", text, u.Readable(), err, want)
		}
	}
}

func TestURLsAreShownWithoutTheirSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"https://hooks.example.com/in?token=SECRET":                                    "https://hooks.example.com/in?…",
		"https://hooks.example.com:443":                                                "https://hooks.example.com",
		"https://hooks.slack.com/services/T0000SECRET/B00SECRET/SECRET":                "",
		"https://hooks.example.com/in/4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c":                "https://hooks.example.com/in/…",
		"https://hooks.example.com/f47ac10b-58cc-4372-a567-0e02b2c3d479/in":            "https://hooks.example.com/…/in",
		"https://hooks.example.com/bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/send":  "https://hooks.example.com/…/send",
		"https://hooks.example.com/api/v2/production-cluster-eu-west-1/2026-11-22/x_1": "https://hooks.example.com/api/v2/production-cluster-eu-west-1/2026-11-22/x_1",
	} {
		u, err := ParseURL(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Shown(); strings.Contains(got, "SECRET") || want != "" && got != want {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
}

func TestAddressesOfOtherHostsAreAllowed(t *testing.T) {
	for _, a := range []string{"192.0.2.7", "10.0.0.1", "127.0.0.1", "::1", "2001:db8::7", "fd12:3456::1", "100.64.0.1", "64:ff9b::c000:207", "64:ff9b:1::c000:207", "64:ff9b:1:c000:2:700::", "2002:c000:207::1", "::ffff:127.0.0.1"} {
		if why := Forbidden(netip.MustParseAddr(a)); why != "" {
			t.Errorf("%s %s", a, why)
		}
	}
	if Forbidden(netip.Addr{}) == "" {
		t.Error("no address is allowed")
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://hooks.example.com/a?b", "http://127.0.0.1:80/", "https://[64:ff9b::a9fe:a9fe]/", "https://u:p@x/", "file:///x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			return
		}
		again, err := ParseURL(u.String())
		if err != nil || again.String() != u.String() || strings.Contains(u.Authority(), "@") {
			t.Errorf("%q became %q, and that %q, %v", text, u.String(), again.String(), err)
		}
		if u.Plain() && !u.Local() {
			t.Errorf("%q is plain and not local", text)
		}
	})
}
