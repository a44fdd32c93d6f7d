// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"sentinel/internal/ops"
	"sentinel/internal/version"
)

// table is one operation of each effect, in two toolsets.
func table() []ops.Operation {
	return []ops.Operation{
		{Name: "see", Toolset: "default", Effect: ops.Read},
		{Name: "fix", Toolset: "default", Effect: ops.Write},
		{Name: "end", Toolset: "default", Effect: ops.Destructive},
		{Name: "call", Toolset: "diagnostics", Effect: ops.SendsOut},
		{Name: "look", Toolset: "diagnostics", Effect: ops.Read},
	}
}

func TestFlagsDecideWhichToolsAreOffered(t *testing.T) {
	for _, test := range []struct {
		args string
		want []string
	}{
		{"", []string{"see", "fix", "end"}},
		{"--toolsets default", []string{"see", "fix", "end"}},
		{"--toolsets diagnostics", []string{"call", "look"}},
		{"--toolsets default,diagnostics", []string{"see", "fix", "end", "call", "look"}},
		{"--toolsets=", []string{"see", "fix", "end"}},
		{"--toolsets=all", []string{"see", "fix", "end", "call", "look"}},
		{"--read-only", []string{"see"}},
		{"--read-only=true --toolsets all", []string{"see", "look"}},
		{"--read-only=false", []string{"see", "fix", "end"}},
		{"--disable-tool fix", []string{"see", "end"}},
		{"--disable-tool fix --disable-tool=end --disable-tool end", []string{"see"}},
		{"--disable-tool look", []string{"see", "fix", "end"}},
	} {
		o, err := parseOptions(strings.Fields(test.args), table())
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		var got []string
		for _, op := range selected(table(), o) {
			got = append(got, op.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestFlagsAreRead(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o, err := parseOptions([]string{"--timeout", "1s", "--log-level=debug", "--sentinel", filepath.Dir(self) + "/./" + filepath.Base(self)}, table())
	if err != nil {
		t.Fatal(err)
	}
	if o.timeout != time.Second || o.level != slog.LevelDebug || o.sentinel != self {
		t.Errorf("timeout %v, level %v, sentinel %s", o.timeout, o.level, o.sentinel)
	}
	if o, err = parseOptions(nil, table()); err != nil || o.timeout != 45*time.Second || o.level != slog.LevelWarn || o.sentinel != "" {
		t.Errorf("defaults: timeout %v, level %v, sentinel %q, %v", o.timeout, o.level, o.sentinel, err)
	}
}

func TestWrongCommandLineIsAUsageErrorThatNamesTheFlag(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const bounds = "must be a duration from 1s to 45s"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"stray"}, `"stray" is not a flag`},
		{[]string{"--read-only", "false"}, `"false" is not a flag`},
		{[]string{"--", "x"}, `"x" is not a flag`},
		{[]string{""}, `"" is not a flag`},
		{[]string{"--bogus"}, "there is no flag --bogus"},
		{[]string{"--bogus=1"}, "there is no flag --bogus"},
		{[]string{"-x"}, "there is no flag -x"},
		{[]string{"--time", "3s"}, "there is no flag --time"},
		{[]string{"--timeout"}, "--timeout needs a value"},
		{[]string{"--timeout="}, "--timeout " + bounds},
		{[]string{"--timeout", "0"}, "--timeout " + bounds},
		{[]string{"--timeout", "-1"}, "--timeout " + bounds},
		{[]string{"--timeout", "-1s"}, "--timeout " + bounds},
		{[]string{"--timeout", "999ms"}, "--timeout " + bounds},
		{[]string{"--timeout", "45.1s"}, "--timeout " + bounds},
		{[]string{"--timeout", "30"}, "--timeout " + bounds},
		{[]string{"--timeout", "soon"}, "--timeout " + bounds},
		{[]string{"--timeout", "9999999999h"}, "--timeout " + bounds},
		{[]string{"--timeout", "2s", "--timeout", "2s"}, "--timeout may be given only once"},
		{[]string{"--toolsets"}, "--toolsets needs a value"},
		{[]string{"--toolsets=,"}, `has no toolset ""; known are default, diagnostics, all`},
		{[]string{"--toolsets", "default,"}, `has no toolset ""`},
		{[]string{"--toolsets", "Default"}, `has no toolset "Default"`},
		{[]string{"--toolsets", "0"}, `has no toolset "0"`},
		{[]string{"--toolsets", "default, diagnostics"}, `has no toolset " diagnostics"`},
		{[]string{"--toolsets", "all", "--toolsets", "all"}, "--toolsets may be given only once"},
		{[]string{"--read-only=0"}, `--read-only takes no value, or true or false, not "0"`},
		{[]string{"--read-only=-1"}, `not "-1"`},
		{[]string{"--read-only="}, `not ""`},
		{[]string{"--read-only=yes"}, `not "yes"`},
		{[]string{"--read-only", "--read-only"}, "--read-only may be given only once"},
		{[]string{"--disable-tool"}, "--disable-tool needs a value"},
		{[]string{"--disable-tool="}, `has no tool ""; known are see, fix`},
		{[]string{"--disable-tool", "0"}, `has no tool "0"`},
		{[]string{"--disable-tool", "see,fix"}, `has no tool "see,fix"`},
		{[]string{"--log-level="}, `must be debug, info, warn or error, not ""`},
		{[]string{"--log-level", "0"}, `not "0"`},
		{[]string{"--log-level", "-1"}, `not "-1"`},
		{[]string{"--log-level", "WARN"}, `not "WARN"`},
		{[]string{"--log-level", "info", "--log-level", "info"}, "--log-level may be given only once"},
		{[]string{"--sentinel"}, "--sentinel needs a value"},
		{[]string{"--sentinel="}, `must be an absolute path, not ""`},
		{[]string{"--sentinel", "0"}, `must be an absolute path, not "0"`},
		{[]string{"--sentinel", "bin/sentinel"}, "must be an absolute path"},
		{[]string{"--sentinel", "/no/such/file"}, `there is no file "/no/such/file"`},
		{[]string{"--sentinel", "/"}, "is not a regular file"},
		{[]string{"--sentinel", plain}, "is not executable"},
		{[]string{"--sentinel", "/dev/null"}, "is not a regular file"},
		{[]string{"--install"}, "--install needs a value"},
		{[]string{"--install="}, `--install knows no client ""; known are claude-desktop, claude-code, cursor, vscode, gemini-cli, copilot-cli`},
		{[]string{"--install", "Cursor"}, `knows no client "Cursor"`},
		{[]string{"--install", "cursor", "--install", "vscode"}, "--install may be given only once"},
		{[]string{"--uninstall", "../cursor"}, `--uninstall knows no client "../cursor"`},
		{[]string{"--install", "cursor", "--uninstall", "cursor"}, "--install and --uninstall do not go together"},
		{[]string{"--uninstall", "cursor", "--read-only"}, "--read-only does not go together with --uninstall"},
		{[]string{"--uninstall", "cursor", "--timeout=3s"}, "--timeout does not go together with --uninstall"},
		{[]string{"--dry-run"}, "--dry-run and --json belong to --install and --uninstall"},
		{[]string{"--json", "--read-only"}, "--dry-run and --json belong to --install and --uninstall"},
		{[]string{"--version", "--version"}, "--version may be given only once"},
		{[]string{"--version=2"}, "--version takes no value"},
		{[]string{"--help=x"}, "--help takes no value"},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			if _, err := parseOptions(test.args, table()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
			var stdout, stderr bytes.Buffer
			if got := Run(t.Context(), "linux", test.args, strings.NewReader(""), &stdout, &stderr); got != 2 {
				t.Errorf("exit status %d, want 2", got)
			}
			if stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "sentinel-mcp: ") {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

func TestFlagsOfTheServerArePassedOn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string][]string{
		"":                                      nil,
		"--json --dry-run":                      nil,
		"--read-only":                           {"--read-only"},
		"--read-only=true":                      {"--read-only"},
		"--read-only=false":                     {"--read-only=false"},
		"--timeout 3s --toolsets all":           {"--toolsets=all", "--timeout=3s"},
		"--log-level=debug":                     {"--log-level=debug"},
		"--disable-tool end --disable-tool=fix": {"--disable-tool=end", "--disable-tool=fix"},
		"--sentinel " + self:                    {"--sentinel=" + self},
	} {
		o, err := parseOptions(strings.Fields("--install cursor "+args), table())
		if err != nil || !slices.Equal(o.manage.serverFlags, want) {
			t.Errorf("%q: %q, %v, want %q", args, o.manage.serverFlags, err, want)
		}
		again, err := parseOptions(o.manage.serverFlags, table())
		if err != nil || again.readOnly != o.readOnly || again.timeout != o.timeout || again.sentinel != o.sentinel || again.level != o.level ||
			!slices.Equal(again.toolsets, o.toolsets) || !slices.Equal(again.disabled, o.disabled) {
			t.Errorf("%q: passed on it means %+v, %v", args, again, err)
		}
	}
}

// A server that is entered into a client has the tools for diagnosis unless its user says otherwise.
func TestAnEnteredServerHasTheDiagnostics(t *testing.T) {
	const on = "--toolsets=default,diagnostics"
	for args, want := range map[string][2][]string{ // of the entry, and of one that is new
		"":                             {nil, {on}},
		"--read-only":                  {{on, "--read-only"}, {on, "--read-only"}},
		"--toolsets default":           {{"--toolsets=default"}, {"--toolsets=default"}},
		"--toolsets=all --timeout=3s":  {{"--toolsets=all", "--timeout=3s"}, {"--toolsets=all", "--timeout=3s"}},
		"--disable-tool=end --dry-run": {{on, "--disable-tool=end"}, {on, "--disable-tool=end"}},
	} {
		o, err := parseOptions(strings.Fields("--install cursor "+args), table())
		if err != nil {
			t.Fatal(err)
		}
		e := o.manage.entry("/usr/bin/sentinel-mcp")
		fresh := e.Args
		if fresh == nil {
			fresh = e.Initial
		}
		if !slices.Equal(e.Args, want[0]) || (e.Args == nil) != (want[0] == nil) || !slices.Equal(fresh, want[1]) {
			t.Errorf("%q: %q, new %q, want %q", args, e.Args, fresh, want)
		}
		started, err := parseOptions(fresh, table())
		var offered []string
		for _, op := range selected(table(), started) {
			offered = append(offered, op.Name)
		}
		if on := slices.Contains(offered, "look"); err != nil || on == strings.Contains(args, "toolsets default") {
			t.Errorf("%q: offers %q, %v", args, offered, err)
		}
	}
}

func TestHelpAndVersionGoToStdout(t *testing.T) {
	for args, want := range map[string]string{
		"--version":        "sentinel-mcp " + version.Number + "\n",
		"--help":           "Flags:",
		"-h":               "--disable-tool name",
		"--help --version": "--timeout duration",
	} {
		var stdout, stderr bytes.Buffer
		status := Run(t.Context(), "linux", strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
		if status != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", args, status, stdout.String(), stderr.String())
		}
		for line := range strings.Lines(stdout.String()) {
			if len(line) > len("\n")+80 {
				t.Errorf("%s: wider than a terminal: %q", args, line)
			}
		}
	}
}

// A configuration that is written for a later version must not keep this one
// from starting.
func TestEveryToolsetIsKnownWithoutATool(t *testing.T) {
	for _, name := range append(ops.Toolsets(), "default,diagnostics", "all") {
		if _, err := parseOptions([]string{"--toolsets", name}, nil); err != nil {
			t.Error(err)
		}
	}
	for _, op := range ops.All() {
		if !slices.Contains(ops.Toolsets(), op.Toolset) {
			t.Errorf("%s is in the toolset %q, which nobody can ask for", op.Name, op.Toolset)
		}
	}
}

func TestManualHasEveryFlag(t *testing.T) {
	raw, err := os.ReadFile("../../docs/man/sentinel-mcp.1")
	if err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	new(options).define(set, ops.All())
	flags := map[string]bool{}
	set.VisitAll(func(f *pflag.Flag) {
		flags[f.Name] = true
		if !strings.Contains(string(raw), "\\fB\\-\\-"+strings.ReplaceAll(f.Name, "-", "\\-")+"\\fR") {
			t.Errorf("the manual has no --%s", f.Name)
		}
	})
	for _, m := range regexp.MustCompile(`(?m)^\\fB\\-\\-([a-z\\-]+)\\fR`).FindAllStringSubmatch(string(raw), -1) {
		if name := strings.ReplaceAll(m[1], "\\", ""); !flags[name] {
			t.Errorf("the manual has --%s, which is not a flag", name)
		}
	}
}
