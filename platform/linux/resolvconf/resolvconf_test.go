// SPDX-License-Identifier: Apache-2.0

package resolvconf

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func texts(servers []netip.Addr) string {
	var list []string
	for _, a := range servers {
		list = append(list, a.String())
	}
	return strings.Join(list, " ")
}

func TestServersAreReadInTheirOrder(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"# nameserver 192.0.2.1\nsearch a.example\nnameserver 192.0.2.53\r\n nameserver\t2001:db8::53 # second\noptions edns0 ndots:x timeout: attempts:-1\nnameserver fe80::1%eth0": "192.0.2.53 2001:db8::53 fe80::1%eth0",
		"nameserver\nnameserver ns.example\nNAMESERVER 192.0.2.1\n;nameserver 192.0.2.2\nnameserver ::ffff:192.0.2.9\nsearch\ndomain\n\x00\n":                                        "::ffff:192.0.2.9",
		strings.Repeat("nameserver 192.0.2.1\n", 100): strings.TrimSpace(strings.Repeat("192.0.2.1 ", 100)),
	} {
		got, err := Servers(filepath.Join(testenv.Plant(t, map[string]string{"resolv.conf": text}), "resolv.conf"))
		if err != nil || texts(got) != want {
			t.Errorf("%q: %q, %v", text, texts(got), err)
		}
	}
}

func TestNoServerIsLostBehindALongLine(t *testing.T) {
	const last = "\nnameserver 192.0.2.53"
	for _, size := range []int{maxFile - len(last), maxFile - len(last) + 1} {
		path := filepath.Join(testenv.Plant(t, map[string]string{"resolv.conf": strings.Repeat("#", size) + last}), "resolv.conf")
		got, err := Servers(path)
		if size+len(last) <= maxFile && (err != nil || texts(got) != "192.0.2.53") {
			t.Errorf("%d bytes: %q, %v", size, texts(got), err)
		}
		if size+len(last) > maxFile && !errors.Is(err, hostfile.ErrTooLarge) {
			t.Errorf("%d bytes: %q, %v", size, texts(got), err)
		}
	}
	if got, err := parse([]byte(strings.Repeat("nameserver 192.0.2.1 ", maxFile/21))); err != nil || texts(got) != "192.0.2.1" {
		t.Errorf("one long line: %q, %v", texts(got), err)
	}
	if _, err := Servers(filepath.Join(t.TempDir(), "none")); !hostfile.Missing(err) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzServers(f *testing.F) {
	f.Add("nameserver 192.0.2.53\n")
	f.Add("options timeout:99999999999999999999\nsearch\nnameserver fe80::1%x\n")
	f.Fuzz(func(t *testing.T, text string) {
		servers, err := parse([]byte(text))
		if err != nil || len(servers) > strings.Count(text, "nameserver") {
			t.Errorf("%q: %v, %v", text, servers, err)
		}
		for _, s := range servers {
			if !s.IsValid() {
				t.Errorf("%q: %v", text, s)
			}
		}
	})
}

func TestServersOfAllFilesAreReadAndWhatIsNotIsTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"run/systemd/resolve/resolv.conf": "nameserver 192.0.2.1\n", "etc/resolv.conf": "nameserver 127.0.0.53\n", "run/dnsmasq/resolv.conf": strings.Repeat("#", maxFile+1),
	})
	got, err := Here(root)
	if texts(got) != "127.0.0.53 192.0.2.1" || err == nil || !strings.HasPrefix(err.Error(), "/run/dnsmasq/resolv.conf: ") {
		t.Errorf("%q, %v", texts(got), err)
	}
	if got, err := Here(t.TempDir()); len(got) != 0 || err != nil {
		t.Errorf("no files: %q, %v", texts(got), err)
	}
}
