// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A fake answers each command line with its words, and any other as a missing
// program does.
type fake map[string]sysexec.Result

func (f fake) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 || c.MaxOutput == 0 {
		return sysexec.Result{}, errors.New("the command has no bounds")
	}
	if r, ok := f[strings.Join(append([]string{c.Path}, c.Args...), " ")]; ok {
		return r, nil
	}
	return sysexec.Result{}, &fs.PathError{Op: "fork/exec", Path: c.Path, Err: fs.ErrNotExist}
}

func says(stdout string) sysexec.Result { return sysexec.Result{Stdout: []byte(stdout)} }

const custom = "System Integrity Protection status: unknown (Custom Configuration).\n\nConfiguration:\n\tApple Internal: disabled\n\tKext Signing: enabled\n\tFilesystem Protections: disabled\n\tDTrace Restrictions: disabled\n\nThis is an unsupported configuration.\n"

func TestSIP(t *testing.T) {
	for out, want := range map[string]SIP{
		"System Integrity Protection status: enabled.\n":                                {Enabled: true},
		"System Integrity Protection status: disabled.\n":                               {},
		"2026-01-02 csrutil[1:2] noise\nSystem Integrity Protection status: enabled.\n": {Enabled: true},
		custom: {Off: []string{"DTrace Restrictions", "Filesystem Protections"}},
		strings.ReplaceAll(custom, ": disabled", ": enabled"): {Enabled: true},
		// Catalina says enabled of a configuration that is custom all the same.
	} {
		got, err := ParseSIP([]byte(out))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", out, err, diff)
		}
	}
	for _, bad := range []string{
		"", "Statut de la protection de l’intégrité du système : activée.\n", "System Integrity Protection status: ",
		"System Integrity Protection status: unknown (Custom Configuration).\n", "System Integrity Protection status: enab", custom[:100],
	} {
		if got, err := ParseSIP([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

func TestAuthenticatedRoot(t *testing.T) {
	for out, want := range map[string]bool{"Authenticated Root status: enabled\n": true, "Authenticated Root status: enabled.\n": true, "Authenticated Root status: disabled.": false} {
		if got, err := ParseAuthenticatedRoot([]byte(out)); got != want || err != nil {
			t.Errorf("%q: %v, %v", out, got, err)
		}
	}
	if _, err := ParseAuthenticatedRoot([]byte("usage: csrutil <command>\n")); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

func TestGatekeeper(t *testing.T) {
	for _, c := range []struct {
		r    sysexec.Result
		want bool
		err  error
	}{
		{says("assessments enabled\n"), true, nil},
		{sysexec.Result{Stdout: []byte("assessments disabled\n"), Exit: 1}, false, nil},
		{sysexec.Result{Exit: 1}, false, ErrFormat},
		{sysexec.Result{Stdout: []byte("assessments enabled\n"), Exit: 1}, false, ErrFormat},
		{sysexec.Result{Stdout: []byte("assessments disabled\n")}, false, ErrFormat},
		{sysexec.Result{Stdout: []byte("assessments disabled\n"), Exit: 137}, false, ErrFormat},
		{sysexec.Result{Stderr: []byte("assessments enabled\n")}, false, ErrFormat},
	} {
		if got, err := ParseGatekeeper(c.r); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%+v: %v, %v", c.r, got, err)
		}
	}
}

func TestFileVault(t *testing.T) {
	p := func(f float64) *float64 { return &f }
	for out, want := range map[string]FileVault{
		"FileVault is On.\n":  {State: VaultOn},
		"FileVault is Off.\n": {State: VaultOff},
		"FileVault is On, but needs to be restarted to finish.\n":                       {State: VaultOn, Unfinished: true},
		"FileVault is Off, but needs to be restarted to finish.\n":                      {State: VaultOff, Unfinished: true},
		"FileVault is Off, but will be enabled after the next restart.\n":               {State: VaultRestart},
		"FileVault is On.\nEncryption in progress: Percent completed = 42\n":            {State: VaultEncrypting, Percent: p(42)},
		"FileVault is On.\nEncryption in progress: percent completed = 4.25\n":          {State: VaultEncrypting, Percent: p(4.25)},
		"FileVault is On.\nEncryption in progress: percent completed = ##.##\n":         {State: VaultEncrypting},
		"FileVault is On.\nEncryption in progress: percent completed = 420\n":           {State: VaultEncrypting},
		"FileVault is Off.\nDecryption in progress: Percent completed = 7\n":            {State: VaultDecrypting, Percent: p(7)},
		"FileVault is Off.\nDeferred enablement appears to be active for user 'mira'\n": {State: VaultDeferred},
		"FileVault is On.\nFileVault master keychain appears to be installed.\n":        {State: VaultOn},
	} {
		got, err := ParseFileVault([]byte(out))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", out, err, diff)
		}
	}
	for _, bad := range []string{"", "FileVault is ", "FileVault is O", "FileVault est activé.\n", "Error: unknown\n", "FileVault is Once.\n"} {
		if got, err := ParseFileVault([]byte(bad)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}

const (
	m4Policy = `{"SPiBridgeDataType":[{"_name":"ibridge_info","ibridge_model_identifier_top":"Mac16,1","ibridge_extra_boot_policies":"","ibridge_sb_boot_args":"Enabled",` +
		`"ibridge_sb_other_kext":"No","ibridge_sb_sip":"Enabled","ibridge_sb_ssv":"Disabled","ibridge_secure_boot":"Reduced Security"}]}`
	t2Policy  = `{"SPiBridgeDataType":[{"_name":"ibridge_info","ibridge_boot_uuid":"0","ibridge_build":"17P4281","ibridge_model_name":"Apple T2 Security Chip"}]}`
	forPeople = "Controller:\n\n      Model Identifier: Mac16,1\n      Boot Policy:\n        Secure Boot: Permissive Security\n        System Integrity Protection: Disabled\n        Signed System Volume: Enabled\n        Allow All Kernel Extensions: Yes\n"
)

func TestBootPolicy(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		out  string
		want Boot
		t2   bool
		err  error
	}{
		{m4Policy, Boot{SecureBoot: ReducedSecurity, AppleSilicon: true, SIP: &yes, SignedVolume: &no, AnyKernelExtension: &no}, false, nil},
		{"2026-01-02 system_profiler[1:2] hw.cpufamily: 0x1\n" + m4Policy, Boot{SecureBoot: ReducedSecurity, AppleSilicon: true, SIP: &yes, SignedVolume: &no, AnyKernelExtension: &no}, false, nil},
		{forPeople, Boot{SecureBoot: PermissiveSecurity, AppleSilicon: true, SIP: &no, SignedVolume: &yes, AnyKernelExtension: &yes}, false, nil},
		{t2Policy, Boot{}, true, nil},
		{strings.ReplaceAll(t2Policy, "T2", "T1"), Boot{SecureBoot: Unsupported}, false, nil},
		{`{"SPiBridgeDataType" : []}`, Boot{SecureBoot: Unsupported}, false, nil},
		{"", Boot{}, false, ErrFormat},
		{"{}", Boot{}, false, ErrFormat},
		{`{"SPiBridgeDataType":[{"_name":"x"}]}`, Boot{}, false, ErrFormat},
		{m4Policy[:60], Boot{}, false, ErrFormat},
		{strings.ReplaceAll(m4Policy, "Reduced Security", "Sécurité réduite"), Boot{AppleSilicon: true}, false, ErrFormat},
	} {
		got, t2, err := ParseBoot([]byte(c.out))
		if diff := cmp.Diff(c.want, got); diff != "" || t2 != c.t2 || !errors.Is(err, c.err) {
			t.Errorf("%q: T2 %v, %v\n%s", c.out, t2, err, diff)
		}
	}
}

const (
	askBridge = "/usr/sbin/system_profiler -json SPiBridgeDataType"
	english   = " -AppleLanguages (en)"
)

// system_profiler follows the language of its user.
func TestTheLevelIsReadInEnglish(t *testing.T) {
	german := says(strings.NewReplacer("Reduced Security", "Reduzierte Sicherheit", "Enabled", "Aktiviert").Replace(m4Policy))
	usage := sysexec.Result{Exit: 1, Stderr: []byte("Usage: system_profiler\n")}
	for name, c := range map[string]struct {
		programs fake
		want     string
		err      error
	}{
		"asked for English": {fake{askBridge: german, askBridge + english: says(m4Policy)}, ReducedSecurity, nil},
		"not understood":    {fake{askBridge: says(m4Policy), askBridge + english: usage}, ReducedSecurity, nil},
		"not done":          {fake{askBridge: german, askBridge + english: german}, "", ErrFormat},
	} {
		b, err := ReadBoot(t.Context(), c.programs)
		if b.SecureBoot != c.want || !errors.Is(err, c.err) || !b.AppleSilicon {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

func TestLevelOfT2ComesFromItsFirmware(t *testing.T) {
	ask := askBridge + english
	variable := "/usr/sbin/nvram " + policyVariable
	for value, want := range map[string]string{"%02": FullSecurity, "%01": MediumSecurity, "%00": NoSecurity, "%07": "", "": ""} {
		got, err := ReadBoot(t.Context(), fake{ask: says(t2Policy), variable: says(policyVariable + "\t" + value + "\n")})
		if got.SecureBoot != want || (err == nil) != (want != "") || got.AppleSilicon {
			t.Errorf("%q: %+v, %v", value, got, err)
		}
	}
	if _, err := ReadBoot(t.Context(), fake{ask: says(t2Policy), variable: {Stderr: []byte("nvram: Error getting variable - '" + policyVariable + "': (iokit/common) data was not found\n"), Exit: 1}}); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	if got, err := ReadBoot(t.Context(), fake{ask: says(m4Policy)}); err != nil || got.SecureBoot != ReducedSecurity {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLocalPolicy(t *testing.T) {
	line := "Security Mode:               Full       (smb0): absent\n"
	for _, c := range []struct {
		r    sysexec.Result
		want string
		err  error
	}{
		{says("Use at your own risk!\n\nLocal policy for volume group 1:\n" + line), FullSecurity, nil},
		{says(line + strings.Replace(line, "Full", "Permissive", 1) + strings.Replace(line, "Full", "Reduced", 1)), PermissiveSecurity, nil},
		{sysexec.Result{Stderr: []byte("The tool requires running as root\n"), Exit: 1}, "", ErrRoot},
		{says(strings.Replace(line, "Full", "Odd", 1)), "", ErrFormat},
		{says(""), "", ErrFormat},
	} {
		if got, err := ParseLocalPolicy(c.r); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.r.Stdout, got, err)
		}
	}
}

func TestFirmwarePassword(t *testing.T) {
	for _, c := range []struct {
		r    sysexec.Result
		want bool
		err  error
	}{
		{says("Password Enabled: Yes\n"), true, nil},
		{says("Password Enabled: No\n"), false, nil},
		{sysexec.Result{Stderr: []byte("This tool must be run as root\nERROR | main | must be run as root\n"), Exit: 1}, false, ErrRoot},
		{says("Mode: none\n"), false, ErrFormat},
	} {
		if got, err := ParseFirmwarePassword(c.r); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.r.Stdout, got, err)
		}
	}
}

func bundle(t *testing.T, root, path, version string, date time.Time) {
	t.Helper()
	resources := filepath.Join(root, path, "Contents/Resources")
	if err := os.MkdirAll(resources, 0o755); err != nil {
		t.Fatal(err)
	}
	info := `<?xml version="1.0"?><plist version="1.0"><dict><key>CFBundleShortVersionString</key><string>` + version + `</string></dict></plist>`
	if err := os.WriteFile(filepath.Join(root, path, "Contents/Info.plist"), []byte(info), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(resources, date, date); err != nil {
		t.Fatal(err)
	}
}

func TestXProtectIsTheNewestOfTheLists(t *testing.T) {
	old, recent := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	root := t.TempDir()
	if _, err := ReadXProtect(root); !errors.Is(err, fs.ErrNotExist) || answer.Reason(err) != "not provided by this system" {
		t.Error(err)
	}
	bundle(t, root, bundles[1], "5322", old)
	for version, want := range map[string]XProtect{
		"5347": {"5347", recent, bundles[0]}, "999": {"5322", old, bundles[1]}, "5322.1": {"5322.1", recent, bundles[0]}, "odd": {"5322", old, bundles[1]},
	} {
		bundle(t, root, bundles[0], version, recent)
		got, err := ReadXProtect(root)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", version, err, diff)
		}
	}
	bundle(t, root, bundles[1], "", old)
	bundle(t, root, bundles[0], "", old)
	if got, err := ReadXProtect(root); !errors.Is(err, ErrFormat) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A protection is not known where its program is missing or there is no system
// to ask, and never off.
func TestNothingToAskIsAnError(t *testing.T) {
	for name, read := range map[string]func(sysexec.Runner) error{
		"sip":        func(r sysexec.Runner) error { _, err := ReadSIP(t.Context(), r); return err },
		"root":       func(r sysexec.Runner) error { _, err := ReadAuthenticatedRoot(t.Context(), r); return err },
		"gatekeeper": func(r sysexec.Runner) error { _, err := ReadGatekeeper(t.Context(), r); return err },
		"filevault":  func(r sysexec.Runner) error { _, err := ReadFileVault(t.Context(), r); return err },
		"boot":       func(r sysexec.Runner) error { _, err := ReadBoot(t.Context(), r); return err },
		"policy":     func(r sysexec.Runner) error { _, err := ReadLocalPolicy(t.Context(), r); return err },
		"password":   func(r sysexec.Runner) error { _, err := ReadFirmwarePassword(t.Context(), r); return err },
	} {
		if err := read(nil); !errors.Is(err, ErrNotLive) {
			t.Errorf("%s of no system: %v", name, err)
		}
		if err := read(fake{}); answer.Reason(err) != "not provided by this system" {
			t.Errorf("%s without its program: %v", name, err)
		}
	}
	if answer.Reason(ErrRoot) != "not readable without root" {
		t.Error(answer.Reason(ErrRoot))
	}
}

// exits are the exit statuses of recorded outputs that have another than 0.
var exits = map[string]int{"status-disabled.txt": 1, "status-verbose-disabled-devid.txt": 0}

// recorded checks that each output of a command gives what is wanted of its case.
// Cases that are not known here must not panic.
func recorded(t *testing.T, command string, want map[string]string, parse func(r sysexec.Result) (any, error)) {
	t.Helper()
	for _, out := range testenv.RecordedOutputs(t, command) {
		got, err := parse(sysexec.Result{Stdout: out.Raw, Exit: exits[out.Name]})
		text := "error"
		if err == nil {
			text = show(got)
		}
		if expected, known := want[out.Name]; known && expected != text {
			t.Errorf("%s/%s: %s, %v; want %s", command, out.Name, text, err, expected)
		}
	}
}

func show(v any) string {
	switch v := v.(type) {
	case SIP:
		if v.Enabled {
			return "on"
		}
		return strings.TrimSpace("off " + strings.Join(v.Off, ", "))
	case FileVault:
		text := string(v.State)
		if v.Unfinished {
			text += " unfinished"
		}
		return text
	case Boot:
		return v.SecureBoot
	case bool:
		return map[bool]string{true: "on", false: "off"}[v]
	default:
		return v.(string)
	}
}

func TestRecordedOutputs(t *testing.T) {
	recorded(t, "csrutil", map[string]string{
		"status-enabled.txt": "on", "status-enabled-26.5.txt": "on", "status-disabled.txt": "off",
		"status-custom-10.15.txt":         "off Debugging Restrictions, Filesystem Protections",
		"status-custom-12-arm.txt":        "off Boot-arg Restrictions, Debugging Restrictions, Filesystem Protections, Kernel Integrity Protections, NVRAM Protections",
		"authenticated-root-disabled.txt": "off", "authenticated-root-enabled-dot.txt": "on",
	}, func(r sysexec.Result) (any, error) {
		if strings.HasPrefix(string(r.Stdout), "Authenticated") {
			return ParseAuthenticatedRoot(r.Stdout)
		}
		return ParseSIP(r.Stdout)
	})
	recorded(t, "spctl", map[string]string{"status-enabled.txt": "on", "status-enabled-26.5.txt": "on", "status-verbose-enabled.txt": "on", "status-verbose-disabled-devid.txt": "on"},
		func(r sysexec.Result) (any, error) { return ParseGatekeeper(r) })
	recorded(t, "fdesetup", map[string]string{
		"status-on.txt": "on", "status-on-26.5.txt": "on", "status-off.txt": "off", "status-encrypting-10.13.txt": "encrypting", "status-encrypting-capital.txt": "encrypting",
		"status-off-enabled-after-restart.txt": "restart", "status-off-needs-restart.txt": "off unfinished", "status-on-needs-restart.txt": "on unfinished",
	}, func(r sysexec.Result) (any, error) { return ParseFileVault(r.Stdout) })
	recorded(t, "bputil", map[string]string{"not-root-26.5.txt": "error", "display-one-volume.txt": "error", "display-second-volume-failed.txt": "error"},
		func(r sysexec.Result) (any, error) { return ParseLocalPolicy(r) })
	recorded(t, "firmwarepasswd", map[string]string{"check-no.txt": "off", "mode-none.txt": "error", "mode-command.txt": "error"},
		func(r sysexec.Result) (any, error) { return ParseFirmwarePassword(r) })
	recorded(t, "system_profiler", map[string]string{"SPiBridgeDataType-m3-26.5.txt": "full", "SPHardwareDataType-intel-10.15.2.txt": "error", "SPHardwareDataType-xml-intel.plist": "error"},
		func(r sysexec.Result) (any, error) { b, _, err := ParseBoot(r.Stdout); return b, err })
	recorded(t, "nvram", map[string]string{"boot-args-unset.txt": "error", "bootpreference-unset.txt": "error"},
		func(r sysexec.Result) (any, error) { return ParsePolicyVariable(r.Stdout) })
}

func FuzzPosture(f *testing.F) {
	for _, seed := range []string{custom, m4Policy, t2Policy, forPeople, "FileVault is On.\nEncryption in progress: Percent completed = 42\n", "assessments enabled\n", "Password Enabled: No\n", policyVariable + "\t%02"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := sysexec.Result{Stdout: raw}
		if s, err := ParseSIP(raw); err == nil && (s.Enabled && len(s.Off) > 0 || len(s.Off) > maxProtections) {
			t.Errorf("%q: %+v", raw, s)
		}
		if v, err := ParseFileVault(raw); err == nil && (v.State == "" || v.Percent != nil && !(*v.Percent >= 0 && *v.Percent <= 100)) {
			t.Errorf("%q: %+v", raw, v)
		}
		if b, t2, err := ParseBoot(raw); err == nil && !t2 && b.SecureBoot == "" {
			t.Errorf("%q: %+v", raw, b)
		}
		ParseAuthenticatedRoot(raw)
		ParseGatekeeper(r)
		ParseLocalPolicy(r)
		ParseFirmwarePassword(r)
		ParsePolicyVariable(raw)
		if v, err := ParseBundleVersion(raw); err == nil && v == "" {
			t.Errorf("%q: no version", raw)
		}
	})
}
