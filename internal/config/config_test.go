// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/testenv"
)

// comparePrefixes lets cmp compare networks, whose fields are unexported.
var comparePrefixes = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestParseKeepsTheDefaultOfWhatIsNotThere(t *testing.T) {
	warm := Default()
	warm.AgentID = "web-1"
	warm.Thresholds["cpu"] = health.Threshold{Level: health.Level{Warning: 50, Critical: 98}}
	warm.Thresholds["firewall_disabled"] = health.Threshold{Severity: "none"}
	guarded := Default()
	guarded.Policy = Policy{ReadOnly: true, DisabledTools: []string{"terminate_process"}, EnabledTools: []string{}, DestructivePerMinute: 3, Ask: AskOff}
	guarded.Protect.Addresses = []Network{
		{netip.MustParsePrefix("192.0.2.0/24")}, {netip.MustParsePrefix("2001:db8::1/128")}, {netip.MustParsePrefix("198.51.100.7/32")},
	}
	guarded.Protect.Services = []string{"nginx"}
	for _, c := range []struct {
		yaml string
		want Config
	}{
		{"policy: {read_only: true, disabled_tools: [terminate_process], destructive_per_minute: 3, ask: off}\n" +
			"protect: {addresses: [192.0.2.77/24, '2001:db8::1', '::ffff:198.51.100.7'], services: [nginx]}\n", guarded},
		{"", Default()},
		{"# nothing yet\n", Default()},
		{"thresholds:\n", Default()},
		{"policy:\n  ask:\n", Default()},
		{"thresholds: {}\n", Default()},
		{"agent_id: web-1\nthresholds:\n  cpu: {warning: 50}\n  firewall_disabled: none\n", warm},
	} {
		got, err := parse([]byte(c.yaml))
		if err != nil {
			t.Errorf("%q: %v", c.yaml, err)
		}
		if diff := cmp.Diff(c.want, got, comparePrefixes); diff != "" {
			t.Errorf("%q: -want +got\n%s", c.yaml, diff)
		}
	}
}

func TestParseRefusesWithTheLine(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"agent_id: a\nagentid: b\n", "line 2: there is no setting agentid"},
		{"thresholds:\n  cpu:\n    warn: 5\n", "line 3: there is no setting warn"},
		{"thresholds:\n  cpu: {warning: 5}\n  heat: {warning: 5}\n", "line 3: there is no setting heat"},
		{"thresholds:\n  cpu: {warning: 5}\n  cpu: {warning: 6}\n", `line 3: mapping key "cpu" already defined at line 2`},
		{"thresholds:\n  cpu:\n    warning: 5\n    warning: 6\n", `line 4: mapping key "warning" already defined at line 3`},
		{"thresholds: {clock_offset_seconds: {critical: 61}}\n", "thresholds.clock_offset_seconds holds 61; a number above 0 and at most 60 is allowed"},
		{"thresholds: [cpu]\n", "line 1: cannot unmarshal !!seq"},
		{"agent_id: a\nagent_id: b\n", `line 2: mapping key "agent_id" already defined at line 1`},
		{"thresholds:\n  cpu: hot\n", "line 2: cannot unmarshal !!str `hot`"},
		{"thresholds:\n  cpu: {warning: many}\n", "line 2: cannot unmarshal !!str `many`"},
		{"thresholds: {cpu: {warning: .nan}}\n", "thresholds.cpu holds NaN; a number above 0 and at most 100 is allowed"},
		{"thresholds: {disk: {critical: .inf}}\n", "thresholds.disk holds +Inf"},
		{"thresholds: {swap: {warning: 0}}\n", "thresholds.swap holds 0"},
		{"thresholds: {memory: {warning: -1}}\n", "thresholds.memory holds -1"},
		{"thresholds: {temperature: {warning: 90, critical: 80}}\n", "thresholds.temperature: warning 90 is above critical 80"},
		{"thresholds: {firewall_disabled: maybe}\n", `thresholds.firewall_disabled is "maybe"; none, warning or critical are allowed`},
		{"policy: {disabled_tools: [get_system_helth]}\n", `policy.disabled_tools names "get_system_helth", and there is no such tool`},
		{"policy: {disabled_tools: [verify_journal]}\n", "there is no such tool"},
		{"policy: {enabled_tools: [enable_firewall]}\n", `policy.enabled_tools names "enable_firewall", and there is no such tool that has to be switched on`},
		{"policy: {destructive_per_minute: -1}\n", "policy.destructive_per_minute is -1; it must be from 0 to 1000"},
		{"policy: {destructive_per_minute: 1001}\n", "it must be from 0 to 1000"},
		{"policy: {ask: always}\n", `policy.ask is "always"; it must be off, offered or required`},
		{"policy: {ask: ''}\n", `policy.ask is ""`},
		{"policy: {read_only: perhaps}\n", "line 1: cannot unmarshal !!str `perhaps`"},
		{"policy: {readonly: true}\n", "line 1: there is no setting readonly"},
		{"protect: {addresses: [localhost]}\n", `"localhost" is neither an address nor a network`},
		{"protect: {addresses: ['fe80::1%eth0']}\n", "is neither an address nor a network"},
		{"protect: {addresses: [192.0.2.0/33]}\n", "is neither an address nor a network"},
		{"scan: {engine: masscan}\n", `scan.engine is "masscan"; connect or nmap are allowed`},
		{"scan: {targets: [example.net]}\n", "is neither an address nor a network"},
		{"audit: {exempt: [{id: kernel.aslr}]}\n", `audit.exempt: "kernel.aslr" needs an id and a reason`},
		{"audit: {exempt: [{id: a, reason: x}, {id: a, reason: y}]}\n", `audit.exempt names "a" twice`},
		{"protect: {services: ['']}\n", "protect holds an empty name"},
		{"agent_id: 'a b'\n", "agent_id holds ' '"},
		{"agent_id: \"a\\u202eb\"\n", "agent_id holds '\\u202e'"},
		{"agent_id: " + strings.Repeat("a", 65) + "\n", "agent_id is longer than 64 characters"},
		{"agent_id: a\n---\nagent_id: b\n", "it holds more than one YAML document"},
		{"agent_id: [\n", "line 1: did not find expected node content"},
		{"- a\n", "line 1: cannot unmarshal !!seq"},
		{"\x00", "control characters are not allowed"},
	} {
		_, err := parse([]byte(c.yaml))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q\n got %v\nwant %s", c.yaml, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "config.") && !strings.Contains(c.want, "config.") {
			t.Errorf("%q: the error names a Go type: %v", c.yaml, err)
		}
	}
}

func TestLoadTakesAMissingFileAsTheDefaultsUnlessItWasNamed(t *testing.T) {
	path := filepath.Join(directory(t), "config.yaml")
	got, err := Load(path, false)
	if diff := cmp.Diff(Default(), got, comparePrefixes); diff != "" || err != nil {
		t.Errorf("got %v\n%s", err, diff)
	}
	refused(t, path, "no such file")
}

func TestLoadRefusesAFileThatIsNoneOrTooLarge(t *testing.T) {
	dir := directory(t)
	refused(t, dir, "it is not a regular file")
	large := filepath.Join(dir, "large.yaml")
	write(t, large, strings.Repeat("#", maxSize<<10+1))
	refused(t, large, "it is larger than 64 KiB")
}

func TestLoadRefusesWhatOthersCanWrite(t *testing.T) {
	dir := directory(t)
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(inner, "config.yaml")
	write(t, path, "agent_id: a\n")
	if _, err := Load(path, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		mode os.FileMode
	}{{path, 0o664}, {path, 0o646}, {inner, 0o775}, {inner, 0o757}, {inner, 0o777 | os.ModeSticky}} {
		old, err := os.Stat(c.name)
		if err != nil {
			t.Fatal(err)
		}
		chmod(t, c.name, c.mode)
		_, err = Load(path, true)
		if sticky := c.mode&os.ModeSticky != 0; sticky && os.Geteuid() == 0 {
			// A file of root in a sticky directory of root can only be replaced by
			// root.
			if err != nil {
				t.Errorf("%s with mode %v: %v", c.name, c.mode, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "can be written by others") {
			t.Errorf("%s with mode %v: got %v", c.name, c.mode, err)
		}
		chmod(t, c.name, old.Mode())
	}
}

// A link in a safe directory may lead into one that is not.
func TestLoadChecksWhereALinkLeads(t *testing.T) {
	dir := directory(t)
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(open, "real.yaml"), "agent_id: a\n")
	chmod(t, open, 0o777)
	link := filepath.Join(dir, "config.yaml")
	if err := os.Symlink(filepath.Join(open, "real.yaml"), link); err != nil {
		t.Fatal(err)
	}
	refused(t, link, "can be written by others")
}

func TestLoadRefusesAFileOfSomebodyElse(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give files away")
	path := filepath.Join(directory(t), "config.yaml")
	write(t, path, "agent_id: a\n")
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	refused(t, path, "belongs to user 65534")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "agent_id: a\n", "thresholds:\n  cpu: {warning: 1, critical: 2}\n", "a: &a [*a]\n", "---\n---\n", "thresholds: {cpu: {warning: 1e308}}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := parse(raw)
		if err == nil && (c.Thresholds.check() != nil || checkAgentID(c.AgentID) != nil) {
			t.Fatalf("%q was taken as %+v", raw, c)
		}
	})
}

// parse reads one document as if it were the only file.
func parse(raw []byte) (Config, error) {
	c := Default()
	err := c.parse(raw)
	return c, err
}

func refused(t *testing.T, path, want string) {
	t.Helper()
	_, err := Load(path, true)
	if f := fault.From(err); err == nil || f.Code != fault.ConfigInvalid || !strings.Contains(f.Message, want) {
		t.Errorf("got %v, want CONFIG_INVALID with %q", err, want)
	}
}

// directory creates a directory that only its owner can write to.
func directory(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
