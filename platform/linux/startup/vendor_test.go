// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
)

// vendored are units in the folder of a vendor that nothing in /etc has started: each comes with another by a way of its
// own.
var vendored = map[string]string{
	"first.target":      "[Unit]\nRequires=multi-user.target\nWants=plain.service by-alias.service of-template@x.service placed.service held.service mounts.service\n",
	"plain.service":     "[Unit]\nBindsTo=bound.service\nRequires=second.target\n",
	"bound.service":     "",
	"second.target":     "[Unit]\nUpholds=upheld.service\n",
	"listed@.service":   "",
	"upheld.service":    "",
	"aliased.service":   "",
	"template@.service": "",
	"placed.service":    "[Service]\nSlice=deep-er.slice\n",
	"deep.slice":        "[Unit]\nWants=of-slice.service\n",
	"of-slice.service":  "",
	"held.service":      "[Service]\nSockets=held-by.socket\n",
	"held-by.socket":    "[Unit]\nWants=of-socket.service\n[Socket]\nListenStream=/run/held-by\nService=held.service\n",
	"of-socket.service": "",
	"mounts.service":    "[Unit]\nRequiresMountsFor=/run/held/x\n",
	"run-held.mount":    "[Unit]\nWants=of-mount.service\n[Mount]\nWhat=none\nType=tmpfs\nWhere=/run/held\n",
	"of-mount.service":  "",
	"soon.timer":        "[Timer]\nOnActiveSec=0\nAccuracySec=1us\nUnit=timed.service\n",
	"timed.service":     "[Unit]\nWants=of-timed.service\n",
	"of-timed.service":  "",
}

// aliases of those are links of the vendor.
var vendorAliases = map[string]string{"default.target": "first.target", "by-alias.service": "aliased.service", "of-template@.service": "template@.service", "second.target.wants/listed@x.service": "../listed@.service", "timers.target.wants/soon.timer": "../soon.timer"}

// plantVendored writes them below a root.
func plantVendored(t *testing.T, root string) {
	t.Helper()
	const folder = "usr/lib/systemd/system"
	for name, text := range vendored {
		file := filepath.Join(root, folder, name)
		if strings.HasSuffix(name, ".service") {
			text += "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/true\n"
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range vendorAliases {
		file := filepath.Join(root, folder, name)
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.Symlink(to, file)); err != nil {
			t.Fatal(err)
		}
	}
}

// enabled are the entries of a machine, by name: whether they are told to start.
func enabled(t *testing.T, root string) map[string]bool {
	t.Helper()
	told := map[string]bool{}
	for _, e := range surveyed(t, root, nil).Entries {
		told[e.Name] = e.Enabled != nil && *e.Enabled
	}
	return told
}

// The same holds where there is no systemd to boot, and for units that the command line of the kernel names.
func TestUnitsInTheFolderOfAVendorThatStartAreTold(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"proc/cmdline":                            "quiet systemd.unit=named.target systemd.wants=wanted.service\n",
		"usr/lib/systemd/system/named.target":     "[Unit]\nWants=of-named.service\n",
		"usr/lib/systemd/system/of-named.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/wanted.service":   "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/idle.service":     "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/user@.service":    "[Unit]\nRequires=of-user@%i.service\n[Service]\nExecStart=/opt/x\n", "usr/lib/systemd/system/of-user@.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/reboot.target": "[Unit]\nRequires=at-reboot.service\n",
		"usr/lib/systemd/system/kexec.target":  "[Unit]\nRequires=at-kexec.service\n", "usr/lib/systemd/system/at-kexec.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/hybrid-sleep.target": "[Unit]\nRequires=asleep.service\n", "usr/lib/systemd/system/asleep.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/suspend-then-hibernate.target": "[Unit]\nRequires=later.service\n", "usr/lib/systemd/system/later.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/soft-reboot.target": "[Unit]\nRequires=softly.service\n", "usr/lib/systemd/system/softly.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/kbrequest.target": "[Unit]\nRequires=keys.service\n", "usr/lib/systemd/system/keys.service": "[Service]\nExecStart=/opt/x\n",
		"usr/lib/systemd/system/at-reboot.service": "[Service]\nExecStart=/opt/x\n",
	})
	plantVendored(t, root)
	want := map[string]bool{"wanted.service": true, "of-user@.service": true, "of-named.service": true, "user@.service": true, "at-reboot.service": true, "at-kexec.service": true, "asleep.service": true, "later.service": true, "softly.service": true, "keys.service": true, "systemd.unit=named.target": true, "systemd.wants=wanted.service": true}
	for name := range vendored {
		if kind := path.Ext(name); kind == ".service" || kind == ".socket" || kind == ".timer" {
			want[strings.Replace(name, "@.", "@x.", 1)] = true
		}
	}
	if diff := cmp.Diff(want, enabled(t, root)); diff != "" {
		t.Error(diff)
	}
}

// A link in /etc stands in the place of what the vendor has by that name, and a link of a name to itself is none.
func TestAnAliasLeadsToOneUnit(t *testing.T) {
	got := unitPrograms(t, map[string]string{
		"etc/systemd/system/a.service":        "[Unit]\nWants=x.service loop.service\n[Service]\nExecStart=/opt/a\n",
		"usr/lib/systemd/system/x.service":    "[Service]\nExecStart=/opt/vendor\n",
		"usr/lib/systemd/system/real.service": "[Service]\nExecStart=/opt/real\n",
	}, map[string]string{
		"etc/systemd/system/x.service":        "/usr/lib/systemd/system/real.service",
		"usr/lib/systemd/system/loop.service": "round.service", "usr/lib/systemd/system/round.service": "loop.service",
	})
	if diff := cmp.Diff(map[string]string{"a.service": "/opt/a", "real.service": "/opt/real"}, got); diff != "" {
		t.Error(diff)
	}
}

// Instances that have others of their template started come to an end, and that is said.
func TestInstancesWithoutEndAreBounded(t *testing.T) {
	found := surveyed(t, testenv.Plant(t, map[string]string{
		"etc/passwd":                          "",
		"etc/systemd/system/a.service":        "[Unit]\nWants=t@0.service\n[Service]\nExecStart=/opt/a\n",
		"usr/lib/systemd/system/t@.service":   "[Unit]\nWants=t@%i%i.service\n[Service]\nExecStart=/opt/t\n",
		"etc/systemd/system/b.service":        "[Unit]\nWants=two@0.service\n[Service]\nExecStart=/opt/a\n",
		"usr/lib/systemd/system/two@.service": "[Unit]\nWants=two@%i0.service two@%i1.service\n[Service]\nExecStart=/opt/t\n",
	}), nil)
	if n := len(found.Entries); n > maxWanted+20 || n < maxWanted {
		t.Errorf("%d entries", n)
	}
	if len(found.Unread) != 1 || found.Unread[0].Path != "/usr/lib/systemd/system/two@.service" || !errors.Is(found.Unread[0].Err, startup.ErrTooMany) {
		t.Errorf("unread: %v", found.Unread)
	}
}
