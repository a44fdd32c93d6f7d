// SPDX-License-Identifier: Apache-2.0

package services

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/services"
)

var jobNames = map[string]bool{
	"com.example.web": true, "system/com.example.web": true, "gui/501/com.example.web": true, "user/0/com.example.web": true, "homebrew.mxcl.postgresql@14": true,
	"TechTool_Daemon-2": true, "7.example": true, "a": true, "com.example.service": true, strings.Repeat("a", maxName): true,
	"": false, "system/": false, "/com.example.web": false, "-k": false, "--help": false, "system/-k": false, ".hidden": false, "..": false, "../a": false,
	"System/a": false, "gui/a": false, "gui/ana/a": false, "gui/0501/a": false, "gui/-1/a": false, "gui/+5/a": false, "gui/99999999999/a": false, "pid/7/a": false,
	"login/100003/a": false, "system/a/b": false, "gui/501/a/b": false, "system//a": false, "a b": false, "a\nb": false, "a\x00": false, "a;b": false, "a\"b": false,
	"a*": false, "a[b]": false, "a:b": false, "été": false, "a\u202e": false, "com.example.web.plist": false, strings.Repeat("a", maxName+1): false,
}

func TestNamesOfJobs(t *testing.T) {
	for asked, want := range jobNames {
		got, err := jobName(asked)
		if (err == nil) != want || err == nil && got != asked || err != nil && code(err) != fault.InvalidService {
			t.Errorf("%.40q: %q, %v", asked, got, err)
		}
		if err != nil && (len(err.Error()) > 300 || !strings.Contains(fix(err), "gui/501/")) {
			t.Errorf("%.40q: %v, %q", asked, err, fix(err))
		}
	}
}

func FuzzJobNames(f *testing.F) {
	for asked := range jobNames {
		f.Add(asked)
	}
	f.Fuzz(func(t *testing.T, asked string) {
		name, err := jobName(asked)
		if err != nil {
			return
		}
		label := labelOf(name)
		if name != asked || len(name) > maxName || strings.HasPrefix(name, "-") || strings.HasPrefix(label, "-") || strings.ContainsAny(label, "/ *?[\"'\\\n") || strings.Count(name, "/") > 2 {
			t.Errorf("%q became %q", asked, name)
		}
	})
}

func TestProtectedJobs(t *testing.T) {
	for label, want := range map[string]bool{
		"com.openssh.sshd": true, "com.openssh.sshd.6F1B": true, "com.apple.screensharing": true, "com.apple.loginwindow": true, "com.apple.WindowServer": true,
		"com.apple.configd": true, "com.apple.mDNSResponder.reloaded": true, "com.apple.opendirectoryd": true, "com.apple.securityd": true, "com.apple.alf.agent": true,
		"com.tailscale.tailscaled": true, "homebrew.mxcl.tailscale": true, "com.cloudflare.cloudflared": true, "org.openvpn.helper": true, "com.apple.pfctl": true,
		"application.com.example.editor.123.456": false, "com.apple.xpc.launchd.oneshot.0x1.a": false, "com.apple.logd": false, "com.apple.diskarbitrationd": false,
		"com.apple.watchdogd": false, "com.apple.UserEventAgent-System": false, "com.apple.logind": true, "net.mullvad.daemon": true, "com.teamviewer.teamviewer_service": true, "org.chromium.chromoting": true, "com.apple.coreservices.launchservicesd": false,
	} {
		for _, name := range []string{label, "system/" + label} {
			if why, lifts := launchdKind.Protection(name); why == "" || lifts != want {
				t.Errorf("%s: %q, force lifts it: %v", name, why, lifts)
			}
		}
	}
	for _, free := range []string{"com.example.web", "homebrew.mxcl.nginx", "com.openssh.ssh-agent", "com.apple.Dock.agent", "org.apache.httpd"} {
		if why, lifts := launchdKind.Protection(free); why != "" || !lifts {
			t.Errorf("%s is protected: %s", free, why)
		}
	}
}

func TestJobsOfTheConfigurationAreProtected(t *testing.T) {
	for pattern, want := range map[string]fault.Code{
		"com.example.*": fault.ProtectedService, "system/com.example.web": fault.ProtectedService, "*": fault.ProtectedService, "com.example": "", "web": "", "": "",
	} {
		m := mac(map[string]*job{web: up()})
		if _, err := services.PlanRestart(t.Context(), source(t, m), services.Options{Name: "com.example.web", Protected: []string{pattern}}); code(err) != want {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestPlanOfAJob(t *testing.T) {
	r, err := services.PlanRestart(t.Context(), source(t, mac(map[string]*job{web: up()})), services.Options{Name: "com.example.web"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "system/com.example.web, which is the real name of com.example.web, (active, running, main PID 812) would be restarted."
	if r.Summary() != want || r.Look() != "sudo launchctl print system/com.example.web" {
		t.Errorf("%q, %q", r.Summary(), r.Look())
	}
}

func TestLogHintSaysWhereTheJobWrites(t *testing.T) {
	if got := logHint(web, ""); !strings.HasSuffix(got, `log show --last 5m --predicate 'eventMessage CONTAINS "com.example.web"'`) {
		t.Error(got)
	}
	if got := logHint(web, "/usr/local/var/log/web.err\x1b[2J"); !strings.Contains(got, "It writes to /usr/local/var/log/web.err") || strings.Contains(got, "\x1b") {
		t.Error(got)
	}
}

func TestSimilarJobs(t *testing.T) {
	names := []string{"homebrew.mxcl.nginx", "com.example.web", "com.docker.vmnetd", "com.apple.logd", "a b.nginx", "org.postgresql.postgres"}
	for asked, want := range map[string][]string{
		"nginx": {"homebrew.mxcl.nginx"}, "ngnix": {"homebrew.mxcl.nginx"}, "system/com.example.wen": {"com.example.web"}, "vmnetd": {"com.docker.vmnetd"},
		"logd": nil, "postgresql": {"org.postgresql.postgres"}, "entirely.else": nil,
	} {
		if diff := cmp.Diff(want, launchdKind.Similar(asked, names)); diff != "" {
			t.Errorf("%s: %s", asked, diff)
		}
	}
}

func TestSignalsAreThoseOfMacOS(t *testing.T) {
	for n, want := range map[int]string{9: "SIGKILL", 10: "SIGBUS", 30: "SIGUSR1", 99: ""} {
		if got := launchdKind.Signals[n]; got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
