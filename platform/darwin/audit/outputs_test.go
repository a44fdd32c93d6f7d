// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/darwin/extensions"
	"sentinel/platform/unix/shellscript"
)

// out is a run that printed words on stdout.
func out(stdout string) sysexec.Result { return sysexec.Result{Stdout: []byte(stdout)} }

// item is a property list of launchd with a program and arguments, and what else is in it.
func item(program, more string, arguments ...string) sysexec.Result {
	raw := `<plist version="1.0"><dict>` + more
	if program != "" {
		raw += "<key>Program</key><string>" + program + "</string>"
	}
	raw += "<key>ProgramArguments</key><array>"
	for _, one := range arguments {
		raw += "<string>" + one + "</string>"
	}
	return out(raw + "</array></dict></plist>")
}

// readers read what one program prints. Each gives its answer in words.
var readers = map[string]func(r sysexec.Result) (string, error){
	"systemsetup": func(r sysexec.Result) (string, error) {
		for _, name := range []string{"Remote Login", "Remote Apple Events", "Network Time"} {
			if on, err := parseSetting(r, name); err == nil {
				return fmt.Sprint(name, " ", on), nil
			} else if errors.Is(err, fs.ErrPermission) {
				return "", err
			}
		}
		return "", errUnknownOutput
	},
	"screen lock": func(r sysexec.Result) (string, error) {
		l, err := parseScreenLock(r.Stderr)
		return fmt.Sprint(l.On, " ", l.Delay), err
	},
	"guest":      func(r sysexec.Result) (string, error) { on, err := parseGuest(r.Stderr); return fmt.Sprint(on), err },
	"enrollment": func(r sysexec.Result) (string, error) { e, err := parseEnrollment(r.Stdout); return fmt.Sprint(e), err },
	"trust":      func(r sysexec.Result) (string, error) { l, err := parseTrust(r); return strings.Join(l, "|"), err },
	"extensions": func(r sysexec.Result) (string, error) {
		l, err := extensions.System(r.Stdout)
		return fmt.Sprint(l), err
	},
	"kernel": func(r sysexec.Result) (string, error) {
		l, err := extensions.Kernel(r.Stdout)
		return strings.Join(l, "|"), err
	},
	"security": func(r sysexec.Result) (string, error) {
		s, err := parseSecurityInfo(r.Stdout)
		if s.RemoteDesktop == nil {
			return "unknown", err
		}
		return fmt.Sprint(*s.RemoteDesktop), err
	},
	"authority": func(r sysexec.Result) (string, error) { on, err := parseAuthority(r); return fmt.Sprint(on), err },
	"members":   func(r sysexec.Result) (string, error) { l, err := parseMembers(r); return strings.Join(l, "|"), err },
	"printers":  func(r sysexec.Result) (string, error) { on, err := parsePrinters(r.Stdout); return fmt.Sprint(on), err },
	"schedule":  func(r sysexec.Result) (string, error) { on, err := parseSchedule(r); return fmt.Sprint(on), err },
	"grants": func(r sysexec.Result) (string, error) {
		l, err := parseGrants(r.Stdout)
		return strings.Join(l, "|"), err
	},
	"item": func(r sysexec.Result) (string, error) {
		one, err := parseItem(r.Stdout)
		return strings.TrimSpace(one.name + one.program + " " + strings.Join(one.scripts, "|") + " " + one.unclear), err
	},
}

const (
	logged           = "2026-11-02 09:15:01.204 sysadminctl[2211:40213] "
	extensionsOutput = "2 extension(s)\n--- com.apple.system_extension.network_extension\nenabled\tactive\tteamID\tbundleID (version)\tname\t[state]\n" +
		"*\t*\tEXAMPLE123\tcom.example.net (6.5 nightly (7300)/7300)\tExample Net\t[activated enabled]\n--- com.apple.system_extension.driver_extension\n" +
		"\t\t\tcom.example.old (1/1)\tOld\t[terminated waiting to uninstall on reboot]\n*\t*\tEXAMPLE123\tcom.example.net (6.5 nightly (7300)/7300)\tExample Net\t[activated enabled]\n"
	loadedList = "Executing: /usr/bin/kmutil showloaded\nIndex Refs Address Size Wired Name (Version) UUID <Linked Against>\n" +
		"  1  140 0                  0          0          com.apple.kpi.bsd (21.6.0) 0 <>\n  152 0 0xffffff8003b1b000 0x9000 0x9000 org.example.a (1) 0 <8 6>\n  153 0 0xffffff8003b2b000 0x9000 0x9000 org.example.a (1) 0 <8 6>\n"
	oneCert  = "Number of trusted certs = 1\nCert 0: Proxy\n   Number of trust settings : 0\n"
	security = "Daemon response: {\n    SecurityInfo =     {\n        \"FDE_Enabled\" = 1;\n        RemoteDesktopEnabled = 1;\n    };\n}\n"
	launched = `<?xml version="1.0"?><plist version="1.0"><dict><key>Label</key><string>a</string><key>ProgramArguments</key><array><string>/bin/sh</string><string>-c</string><string>/opt/run.sh</string><string>/data/x.db</string></array></dict></plist>`
)

func TestWordsOfPrograms(t *testing.T) {
	for _, c := range []struct {
		reader string
		r      sysexec.Result
		want   string // "" for errWords
	}{
		{"systemsetup", out("Remote Login: On\n"), "Remote Login true"},
		{"systemsetup", out("Network Time: Off"), "Network Time false"},
		{"systemsetup", out("Sesión remota: No\n"), ""},
		{"systemsetup", out("Network Time: O"), ""},
		{"screen lock", sysexec.Result{Stderr: []byte(logged + "screenLock delay is immediate\n")}, "true 0s"},
		{"screen lock", sysexec.Result{Stderr: []byte("noise\n" + logged + "screenLock delay is 300 seconds\n")}, "true 5m0s"},
		{"screen lock", sysexec.Result{Stderr: []byte(logged + "screenLock is off\n")}, "false 0s"},
		{"screen lock", sysexec.Result{Stdout: []byte(logged + "screenLock is off\n")}, ""},
		{"screen lock", sysexec.Result{Stderr: []byte(logged + "screenLock delay is soon\n")}, ""},
		{"screen lock", sysexec.Result{Stderr: []byte(logged + "screenLock delay is 300\n")}, ""},
		{"screen lock", sysexec.Result{Stderr: []byte(logged + "screenLock delay is -3 seconds\n")}, ""},
		{"guest", sysexec.Result{Stderr: []byte(logged + "Guest account disabled.\n")}, "false"},
		{"guest", sysexec.Result{Stderr: []byte(logged + "Guest account ENABLED\n")}, "true"},
		{"guest", sysexec.Result{Stderr: []byte(logged + "Guest account dis")}, ""},
		{"enrollment", out("Enrolled via DEP: No\nMDM enrollment: No\n"), "{false false false}"},
		{"enrollment", out("Enrolled via DEP: Yes\nMDM enrollment: Yes (User Approved)\nMDM server: https://mdm.example.com\n"), "{true true true}"},
		{"enrollment", out("Enrolled via DEP: No\nMDM enrollment: Yes\n"), "{false true false}"},
		{"enrollment", out("Enrolled via DEP: No\n"), ""},
		{"enrollment", out("There are no configuration profiles installed\n"), ""},
		{"trust", out("SecTrustSettingsCopyCertificates: No Trust Settings were found.\n"), "none"},
		{"trust", sysexec.Result{Stderr: []byte("SecTrustSettingsCopyCertificates: No Trust Settings were found.\n"), Exit: 1}, "none"},
		{"trust", out(oneCert), "Proxy"},
		{"trust", out(strings.Replace(oneCert, "= 1", "= 2", 1)), ""},
		{"trust", sysexec.Result{Stdout: []byte(oneCert), Exit: 1}, ""},
		{"trust", out(strings.Replace(oneCert, "Proxy", "No Trust Settings were found.", 1)), "No Trust Settings were found."},
		{"trust", out(strings.Replace(oneCert, "Proxy", "x\nSecTrustSettingsCopyCertificates: No Trust Settings were found.", 1)), "x"},
		{"trust", out("warning: No Trust Settings were found.\n"), ""},
		{"trust", sysexec.Result{Stderr: []byte("SecTrustSettingsCopyCertificates: operation not permitted\n"), Exit: 1}, ""},
		{"extensions", out(extensionsOutput), "[{EXAMPLE123 com.example.net activated enabled} { com.example.old terminated waiting to uninstall on reboot}]"},
		{"extensions", out("0 extension(s)\n"), "[]"},
		{"extensions", out("2 extension(s)\n"), ""},
		{"extensions", out(""), ""},
		{"kernel", out(loadedList), "org.example.a"},
		{"kernel", out("Index Refs Address Size Wired Name\n"), ""},
		{"security", out(security), "true"},
		{"security", out(strings.Replace(security, "RemoteDesktopEnabled = 1;", "", 1)), "unknown"},
		{"security", out("RemoteDesktopEnabled = 0;\n"), ""},
		{"authority", out("No such key: AuthenticationAuthority\n"), "false"},
		{"authority", sysexec.Result{Stderr: []byte("No such key: AuthenticationAuthority\n")}, "false"},
		{"authority", out("AuthenticationAuthority:\n ;ShadowHash;HASHLIST:<X>\n"), "true"},
		{"authority", out("AuthenticationAuthority: ;DisabledUser;;ShadowHash;\n"), "false"},
		{"authority", sysexec.Result{Stderr: []byte("<dscl_cmd> DS Error: -14136 (eDSRecordNotFound)\n"), Exit: 56}, ""},
		{"members", out("GroupMembership: root ana ana\n"), "ana|root"},
		{"members", out("GroupMembership:\n"), ""},
		{"members", out("No such key: GroupMembership\n"), ""},
		{"printers", out("_remote_any=0\n_share_printers=1\n"), "true"},
		{"printers", out("_share_printers=\n"), ""},
		{"schedule", out("Automatic checking for updates is turned on\n"), "true"},
		{"schedule", out("Automatic checking for updates is turned off"), "false"},
		{"schedule", out("Automatic check is off\n"), ""},
		{"grants", out(`[{"client":"com.apple.Terminal"},{"client":"/usr/bin/tar"},{"client":"com.example.b"}]`), "com.example.b"},
		{"grants", out("\n"), "none"},
		{"item", out(launched), "/bin/sh /opt/run.sh"},
		{"item", item("", "", "sh", "-c", "/Users/x/evil --now"), "sh /Users/x/evil --now|/Users/x/evil"},
		{"item", item("", "", "Users/x/evil"), "/Users/x/evil"},
		{"item", item("", "<key>WorkingDirectory</key><string>/Users/x</string>", "./evil"), "/Users/x/evil"},
		{"item", item("Users/x/evil", "", "/bin/sh"), "/Users/x/evil /bin/sh"},
		{"item", item("sh", "", "sh"), "/sh"},
		{"item", item("", "<key>EnvironmentVariables</key><dict><key>PATH</key><string>/Users/x</string></dict>", "sh"), "sh  sh is looked for in a PATH of the property list"},
		{"item", item("/bin/sh", "<key>RootDirectory</key><string>/Users/x</string>"), "/bin/sh  /bin/sh is below the root directory /Users/x"},
		{"item", item("", "<key>BundleProgram</key><string>Contents/MacOS/a</string>"), "Contents/MacOS/a is in an application that the property list does not name"},
		{"item", item("/"+strings.Repeat("x", 1100), ""), "the path of the program is none"},
	} {
		got, err := readers[c.reader](c.r)
		if c.want == "none" {
			c.want = ""
			if err != nil || got != "" {
				t.Errorf("%s of %q: %q, %v", c.reader, c.r.Stdout, got, err)
			}
			continue
		}
		if c.want == "" && !errors.Is(err, errUnknownOutput) || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("%s of %q %q: %q, %v; want %q", c.reader, c.r.Stdout, c.r.Stderr, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{ Label = a; }", "<plist><string>x</string></plist>", launched[:80]} {
		if one, err := parseItem([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, one)
		}
	}
	if _, err := parseGrants([]byte("Error: no such column")); err == nil {
		t.Error("a message is taken for rows")
	}
}

// recorded says what each known case of a command is, "error" for one that is
// not understood. Others must only not panic.
func recorded(t *testing.T, command, reader string, want map[string]string) {
	t.Helper()
	for _, one := range testenv.RecordedOutputs(t, command) {
		r := out(string(one.Raw))
		if command == "sysadminctl" {
			r = sysexec.Result{Stderr: one.Raw}
		}
		got, err := readers[reader](r)
		if err != nil {
			got = "error"
		}
		if expected, known := want[one.Name]; known && got != expected {
			t.Errorf("%s/%s: %q, %v; want %q", command, one.Name, got, err, expected)
		}
	}
}

func TestRecordedOutputs(t *testing.T) {
	recorded(t, "systemsetup", "systemsetup", map[string]string{"not-root.txt": "error", "remote-apple-events-off.txt": "Remote Apple Events false", "remote-login-off.txt": "Remote Login false"})
	recorded(t, "sysadminctl", "screen lock", map[string]string{"screenlock-300s.txt": "true 5m0s", "screenlock-immediate.txt": "true 0s", "screenlock-off.txt": "false 0s"})
	recorded(t, "profiles", "enrollment", map[string]string{"no-profiles.txt": "error", "status-enrollment-dep-user-approved.txt": "{true true true}", "status-enrollment-not-enrolled.txt": "{false false false}"})
	recorded(t, "mdmclient", "security", map[string]string{"query-security-info.txt": "false", "query-installed-profiles.txt": "error", "query-device-information-null-agent.txt": "error"})
	recorded(t, "security", "trust", map[string]string{"dump-trust-settings-none-26.5.1.txt": ""})
	recorded(t, "softwareupdate", "schedule", map[string]string{"schedule-on-26.5.1.txt": "true", "none-scan-13.txt": "error"})
	for name, read := range readers {
		for _, command := range []string{"launchctl", "nvram", "defaults-read", "system_profiler"} {
			for _, one := range testenv.RecordedOutputs(t, command) {
				if got, err := read(out(string(one.Raw))); err == nil && name != "item" {
					t.Errorf("%s takes %s/%s for %q", name, command, one.Name, got)
				}
			}
		}
	}
	for _, one := range testenv.RecordedOutputs(t, "systemsetup") {
		if _, err := parseSetting(out(string(one.Raw)), "Remote Login"); one.Name == "not-root.txt" && !errors.Is(err, fs.ErrPermission) {
			t.Error(err)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{extensionsOutput, loadedList, oneCert, security, launched, logged + "screenLock delay is 300 seconds\n", "Executable=/a\nAuthority=B\n", `[{"client":"a"}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, read := range readers {
			for _, r := range []sysexec.Result{{Stdout: raw}, {Stderr: raw}, {Stdout: raw, Exit: 1}} {
				got, err := read(r)
				if err == nil && len(got) > 3*len(raw)+64 {
					t.Errorf("%s makes %d bytes of %d", name, len(got), len(raw))
				}
			}
		}
		if l, err := parseScreenLock(raw); err == nil && (l.Delay < 0 || l.Delay > 1<<31*time.Second) {
			t.Errorf("%q: %v", raw, l)
		}
	})
}

// What a launch item runs is not known where not all commands within its commands were looked at.
func TestALaunchItemOfEndlessCommandsIsNotJudged(t *testing.T) {
	testenv.HangGuard(t)
	var script strings.Builder
	for i := range 40 {
		fmt.Fprintf(&script, "sh &lt;&lt;E%d\n$(", i)
	}
	item := `<?xml version="1.0"?><plist version="1.0"><dict><key>ProgramArguments</key><array><string>/bin/sh</string><string>-c</string><string>` + script.String() + `</string></array></dict></plist>`
	if one, err := parseItem([]byte(item)); !errors.Is(err, shellscript.ErrCut) || one.program != "/bin/sh" {
		t.Errorf("%+v, %v", one, err)
	}
}
