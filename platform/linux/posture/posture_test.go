// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"bytes"
	"errors"
	"testing"

	"sentinel/internal/testenv"
)

// A state is a tree and the expected result of a reader.
type state struct {
	name    string
	files   map[string]string
	want    string
	wantErr bool
}

func check(t *testing.T, read func(string) (string, error), cases []state) {
	t.Helper()
	for _, c := range cases {
		got, err := read(testenv.Plant(t, c.files))
		if got != c.want || (err != nil) != c.wantErr {
			t.Errorf("%s: %q, %v, want %q, error %v", c.name, got, err, c.want, c.wantErr)
		}
	}
}

const (
	on  = "\x06\x00\x00\x00\x01"
	off = "\x06\x00\x00\x00\x00"
)

func TestSecureBootIsWhatTheFirmwareDid(t *testing.T) {
	const acpi, efi = "sys/firmware/acpi/", "sys/firmware/efi/"
	const boot, setup = efi + "efivars/SecureBoot" + globalVariable, efi + "efivars/SetupMode" + globalVariable
	check(t, SecureBoot, []state{
		{"on", map[string]string{boot: on, setup: off}, Enabled, false},
		{"off", map[string]string{boot: off, setup: off}, Disabled, false},
		{"off, no setup variable", map[string]string{boot: off}, Disabled, false},
		{"setup mode", map[string]string{boot: off, setup: on}, SetupMode, false},
		{"on wins over a stray setup mode", map[string]string{boot: on, setup: on}, Enabled, false},
		{"BIOS", map[string]string{acpi: ""}, Unsupported, false},
		{"no firmware folder at all", map[string]string{"sys/": ""}, "", true},
		{"firmware without the variable", map[string]string{efi + "efivars/Boot0000" + globalVariable: "x"}, Unsupported, false},
		{"variables not mounted", map[string]string{efi + "efivars/": ""}, "", true},
		{"no place for variables", map[string]string{efi: ""}, "", true},
		{"covered by a container runtime", map[string]string{"sys/firmware/": ""}, "", true},
		{"cut short", map[string]string{boot: on[:4]}, "", true},
	})
}

func TestEFIFlagIsOneByteAfterItsAttributes(t *testing.T) {
	for _, bad := range []string{"", on[:4], on + "\x00", "\x06\x00\x00\x00\x02"} {
		if _, err := parseEFIFlag([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAppArmorStateAndAbsence(t *testing.T) {
	const file = "sys/module/apparmor/parameters/enabled"
	check(t, AppArmor, []state{
		{"on", map[string]string{file: "Y\n"}, Enabled, false},
		{"off", map[string]string{file: "N\n"}, Disabled, false},
		{"not in the kernel", map[string]string{"sys/module/": ""}, Unsupported, false},
		{"no sysfs", map[string]string{"sys/": ""}, "", true},
		{"odd", map[string]string{file: "maybe\n"}, "", true},
	})
}

func TestProfilesAreCountedByMode(t *testing.T) {
	const list = "/usr/sbin/cupsd (enforce)\nsnap.a (complain)\na (b) c (enforce)\nx (unconfined)\nlsb_release (kill)\n\n"
	if got, err := parseProfiles([]byte(list)); err != nil || got != (Profiles{Enforcing: 3, Complaining: 1}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"cupsd", "cupsd (enforce", "(enforce)"} {
		if _, err := parseProfiles([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	root := testenv.Plant(t, map[string]string{"sys/kernel/security/apparmor/profiles": "a (enforce)\n"})
	if got, err := AppArmorProfiles(root); err != nil || got.Enforcing != 1 {
		t.Errorf("from the file: %+v, %v", got, err)
	}
	if _, err := AppArmorProfiles(t.TempDir()); !errors.Is(err, errNoSecurityFS) {
		t.Errorf("no file: %v", err)
	}
}

func TestSELinuxModeIsTheKernels(t *testing.T) {
	const file, modules = "sys/fs/selinux/enforce", "sys/kernel/security/lsm"
	check(t, SELinux, []state{
		{"enforcing", map[string]string{file: "1"}, Enforcing, false},
		{"permissive", map[string]string{file: "0"}, Permissive, false},
		{"no sysfs", map[string]string{"sys/": "", "proc/cmdline": "selinux=0"}, "", true},
		{"off, and no list of modules", map[string]string{"sys/kernel/": ""}, Disabled, false},
		{"not in force", map[string]string{modules: "capability,apparmor"}, Disabled, false},
		{"covered in a container", map[string]string{"sys/fs/selinux/": ""}, "", true},
		{"odd", map[string]string{file: "2"}, "", true},
	})
}

func TestLockdownTakesTheLevelInForce(t *testing.T) {
	const file, modules = "sys/kernel/security/lockdown", "sys/kernel/security/lsm"
	check(t, Lockdown, []state{
		{"none", map[string]string{file: "[none] integrity confidentiality\n"}, "none", false},
		{"integrity", map[string]string{file: "none [integrity] confidentiality\n"}, "integrity", false},
		{"not in the kernel", map[string]string{modules: "capability,apparmor"}, Unsupported, false},
		{"in the kernel, not shown", map[string]string{modules: "lockdown,capability"}, "", true},
		{"securityfs not mounted", map[string]string{"sys/kernel/security/": ""}, "", true},
		{"odd", map[string]string{file: "none [weird]\n"}, "", true},
		{"no bracket", map[string]string{file: "none\n"}, "", true},
	})
}

func FuzzEFIFlag(f *testing.F) {
	f.Add([]byte(on))
	f.Add([]byte(off[:3]))
	f.Fuzz(func(t *testing.T, b []byte) {
		if flag, err := parseEFIFlag(b); err == nil && flag != bytes.HasSuffix(b, []byte{1}) {
			t.Errorf("%x read as %v", b, flag)
		}
	})
}

func FuzzProfiles(f *testing.F) {
	f.Add([]byte("a (b) c (enforce)\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parseProfiles(b); err == nil && p.Enforcing+p.Complaining > bytes.Count(b, []byte("(")) {
			t.Errorf("%q counted as %+v", b, p)
		}
	})
}

func FuzzLockdown(f *testing.F) {
	f.Add("none [integrity] confidentiality\n")
	f.Fuzz(func(t *testing.T, s string) {
		if level, err := parseLockdown(s); err == nil && level != "none" && level != "integrity" && level != "confidentiality" {
			t.Errorf("%q read as %q", s, level)
		}
	})
}
