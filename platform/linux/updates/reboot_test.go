// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

const hook = "usr/share/update-notifier/notify-reboot-required"

func TestRebootIsDueByFlagOrNewerKernel(t *testing.T) {
	for name, c := range map[string]struct {
		running string
		files   []string
		want    bool
		err     error
	}{
		"Debian's flag":                     {"6.1.0-18-amd64", []string{"run/reboot-required"}, true, nil},
		"the flag in its old place":         {"6.1.0-18-amd64", []string{"var/run/reboot-required"}, true, nil},
		"newer kernel":                      {"6.1.0-18-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "boot/vmlinuz-6.1.0-25-amd64"}, true, nil},
		"numbers and not letters":           {"6.1.0-9-amd64", []string{"boot/vmlinuz-6.1.0-9-amd64", "boot/vmlinuz-6.1.0-10-amd64"}, true, nil},
		"older kernel left over":            {"6.1.0-25-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "boot/vmlinuz-6.1.0-25-amd64"}, false, nil},
		"newer kernel of another flavour":   {"6.1.0-18-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "boot/vmlinuz-6.1.0-25-cloud-amd64"}, false, nil},
		"newer minor of Red Hat":            {"5.14.0-362.8.1.el9_3.x86_64", []string{"boot/vmlinuz-5.14.0-362.8.1.el9_3.x86_64", "boot/vmlinuz-5.14.0-427.42.1.el9_4.x86_64"}, true, nil},
		"newer Fedora":                      {"6.5.6-300.fc39.x86_64", []string{"boot/vmlinuz-6.5.6-300.fc39.x86_64", "boot/vmlinuz-6.11.4-201.fc40.x86_64"}, true, nil},
		"Red Hat's rescue image":            {"5.14.0-362.el9.x86_64", []string{"boot/vmlinuz-5.14.0-362.el9.x86_64", "boot/vmlinuz-0-rescue-abc"}, false, nil},
		"a longer version is newer":         {"5.14.0-427.el9_4.x86_64", []string{"boot/vmlinuz-5.14.0-427.el9_4.x86_64", "boot/vmlinuz-5.14.0-427.13.1.el9_4.x86_64"}, true, nil},
		"a half unpacked kernel":            {"6.1.0-18-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "boot/vmlinuz-6.1.0-25-amd64.dpkg-new"}, false, nil},
		"the Pi's kernels":                  {"6.6.51+rpt-rpi-v8", []string{"boot/vmlinuz-6.6.51+rpt-rpi-v8", "boot/vmlinuz-6.6.51+rpt-rpi-2712"}, false, nil},
		"running kernel known by modules":   {"6.1.0-25-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "lib/modules/6.1.0-25-amd64/modules.dep"}, false, nil},
		"modules in usr":                    {"6.1.0-25-amd64", []string{"boot/vmlinuz-6.1.0-18-amd64", "usr/lib/modules/6.1.0-25-amd64/modules.dep"}, false, nil},
		"kernel from elsewhere":             {"6.18.44-fc", []string{"boot/vmlinuz-6.1.0-25-amd64"}, false, ErrUnknown},
		"kernel from elsewhere with a hook": {"6.18.44-fc", []string{"boot/vmlinuz-6.1.0-25-amd64", hook}, false, nil},
		"container":                         {"6.1.0-25-amd64", nil, false, ErrUnknown},
		"hook and no flag":                  {"6.1.0-25-amd64", []string{hook}, false, nil},
		"the other hook and no flag":        {"6.1.0-25-amd64", []string{"etc/kernel/postinst.d/unattended-upgrades"}, false, nil},
	} {
		root := t.TempDir()
		for _, f := range c.files {
			path := filepath.Join(root, f)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := RebootRequired(root, c.running); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, %v; want %v, %v", name, got, err, c.want, c.err)
		}
	}
}

func TestNewerIsAnOrder(t *testing.T) {
	inOrder := []string{"4.19", "5.4.0-1-generic", "5.14.0-70.el9", "5.14.0-70.13.1.el9", "6.1.0-9-amd64", "6.1.0-25-amd64", "6.10.3", "6.10.0010"}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := newer(a, b); got != (i > j) {
				t.Errorf("%s newer than %s: %v", a, b, got)
			}
		}
	}
}

func TestLeadingZerosAreNoVersion(t *testing.T) {
	if newer("6.010", "6.10") || newer("6.10", "6.010") || newer("6.9", "6.010") {
		t.Error("zeros in front count")
	}
}

func FuzzKernelReleases(f *testing.F) {
	f.Add("6.1.0-18-amd64", "6.1.0-25-amd64")
	f.Add("5.14.0-362.8.1.el9_3.x86_64", "00000.")
	f.Fuzz(func(t *testing.T, a, b string) {
		if newer(a, b) && newer(b, a) {
			t.Errorf("%q and %q are each newer than the other", a, b)
		}
		if newer(a, a) || !sameFlavour(a, a) {
			t.Errorf("%q differs from itself", a)
		}
		if sameFlavour(a, b) != sameFlavour(b, a) {
			t.Errorf("flavours of %q and %q", a, b)
		}
	})
}
