// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"howett.net/plist"

	"sentinel/internal/services"
)

const shippedDaemon = "../../packaging/launchd/com.sentinel.restore.plist"

func shippedFile(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(shippedDaemon)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The whole of the file is checked: launchd ignores what it does not know.
func TestTheShippedDaemon(t *testing.T) {
	var all map[string]any
	format, err := plist.Unmarshal([]byte(shippedFile(t)), &all)
	if err != nil || format != plist.XMLFormat {
		t.Fatal(format, err)
	}
	want := map[string]any{
		"Label": "com.sentinel.restore", "ProgramArguments": []any{"/usr/local/bin/sentinel", "--restore-blocklist"},
		"RunAtLoad": true, "ThrottleInterval": uint64(60), "ProcessType": "Background", "ExitTimeOut": uint64(60),
	}
	for key, value := range want {
		if got, ok := all[key]; !ok || !equalValues(got, value) {
			t.Errorf("%s is %#v, want %#v", key, got, value)
		}
		delete(all, key)
	}
	keep := map[string]any{"PathState": map[string]any{"/var/lib/sentinel/watch": true}}
	if diff := cmp.Diff(keep, all["KeepAlive"]); diff != "" {
		t.Errorf("KeepAlive (-want +got):\n%s", diff)
	}
	delete(all, "KeepAlive")
	for key := range all {
		t.Errorf("%s is not expected", key)
	}
}

func equalValues(a, b any) bool {
	list, ok := b.([]any)
	if !ok {
		return a == b
	}
	other, ok := a.([]any)
	if !ok || len(list) != len(other) {
		return false
	}
	for i := range list {
		if list[i] != other[i] {
			return false
		}
	}
	return true
}

func TestTheDaemonOfAMac(t *testing.T) {
	good := shippedFile(t)
	state := func(text string, err error) func(*Target) {
		return func(p *Target) {
			p.UnitState = func(_ context.Context, unit string) (string, error) {
				if unit != "com.sentinel.restore" {
					return "", errors.New(unit)
				}
				return text, err
			}
		}
	}
	for name, c := range map[string]struct {
		file   string
		change func(*Target)
		status string
		says   string
		fix    string
	}{
		"all is well":       {good, nil, OK, "is installed", ""},
		"it waits":          {good, state("inactive", nil), OK, "is installed", ""},
		"nobody can tell":   {good, state("", errors.New("no")), OK, "is installed", ""},
		"nothing":           {"", nil, Warning, "not installed", "sudo make install"},
		"not loaded":        {good, state(services.NotLoaded, nil), Warning, "not loaded", "launchctl bootstrap system"},
		"it fails":          {good, state("failed", nil), Problem, "has failed", "--restore-blocklist"},
		"no property list":  {"garbage", nil, Problem, "not a property list", "sudo make install"},
		"cut off":           {good[:len(good)-30], nil, Problem, "not a property list", "sudo make install"},
		"another program":   {strings.Replace(good, "/usr/local/bin/sentinel", "/opt/none", 1), nil, Problem, "there is no such program", "sudo make install"},
		"no path":           {strings.Replace(good, "/usr/local/bin/sentinel", "sentinel", 1), nil, Problem, "without its whole path", "sudo make install"},
		"no program":        {strings.Replace(good, "/usr/local/bin/sentinel", "/etc/sudoers.d/sentinel", 1), nil, Problem, "is no program", "sudo make install"},
		"only at boot":      {strings.Replace(good, "<key>PathState", "<key>SuccessfulExit", 1), nil, Warning, "while addresses are blocked", "sudo make install"},
		"another file":      {strings.Replace(good, "sentinel/watch", "sentinel/other", 1), nil, Warning, "while addresses are blocked", "sudo make install"},
		"at an interval":    {strings.Replace(strings.Replace(good, "KeepAlive", "Umask", 1), "ThrottleInterval", "StartInterval", 1), nil, OK, "is installed", ""},
		"not at boot":       {strings.Replace(good, "<true/>", "<false/>", 1), nil, Warning, "at boot", "sudo make install"},
		"something else":    {strings.Replace(good, "--restore-blocklist</string>", "--json</string>", 1), nil, Warning, "--restore-blocklist", "sudo make install"},
		"others can change": {good, func(p *Target) { p.Trusted = suspect("restore.plist") }, Problem, "anyone but root", "sudo make install"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			if c.file != "" {
				files["Library/LaunchDaemons/com.sentinel.restore.plist"] = c.file
			}
			p := wellMac(t, files)
			if c.change != nil {
				c.change(&p)
			}
			f := find(t, Examine(t.Context(), p), "restore")
			if f.Status != c.status || !strings.Contains(f.Value, c.says) || !strings.Contains(f.Fix, c.fix) {
				t.Errorf("%+v, want %s, %q, fix %q", f, c.status, c.says, c.fix)
			}
		})
	}
}
