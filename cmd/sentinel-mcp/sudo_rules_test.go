// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// installed is the path of sentinel in the shipped rules.
const installed = "/usr/local/bin/sentinel"

// shippedRules returns the file that an administrator installs.
func shippedRules(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../packaging/sudoers.d/sentinel")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// raised lists the tools that benefit from root: those that change nothing, or the others.
func raised(reading bool) []string {
	var names []string
	for _, op := range ops.All() {
		if op.Privilege != ops.AnyUser && op.Writes() != reading {
			names = append(names, op.Name)
		}
	}
	return names
}

func TestShippedRulesNameExactlyTheToolsThatRootIsOfUseTo(t *testing.T) {
	var lines []string
	for line := range strings.Lines(shippedRules(t)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	var want, granted, tools []string
	for _, g := range []ops.Grant{ops.GrantRead, ops.GrantState, ops.GrantContent, ops.GrantWrite} {
		if len(g.Tools()) > 0 {
			want = append(want, alias(string(g), g.Tools())...)
			granted, tools = append(granted, string(g)), append(tools, g.Tools()...)
		}
	}
	want = append(want, "%sentinel ALL=(root) NOPASSWD: "+strings.Join(granted, ", "))
	slices.Sort(tools)
	if all := slices.Sorted(slices.Values(append(raised(true), raised(false)...))); !slices.Equal(all, tools) {
		t.Errorf("the aliases have %q, and root is of use to %q", tools, all)
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("packaging/sudoers.d/sentinel (-want +got):\n%s", diff)
	}
}

func alias(name string, tools []string) []string {
	lines := []string{"Cmnd_Alias " + name + ` = \`}
	for i, tool := range tools {
		line := installed + " --request " + tool
		if i < len(tools)-1 {
			line += `, \`
		}
		lines = append(lines, line)
	}
	return lines
}

// Wildcards, regular expressions and negations are the usual mistakes in sudo rules.
func TestShippedRulesAreLiterals(t *testing.T) {
	for line := range strings.Lines(shippedRules(t)) {
		if !strings.HasPrefix(line, "#") && regexp.MustCompile(`[*?\[\]^$!"]`).MatchString(line) {
			t.Errorf("%q is no list of literals", line)
		}
	}
}

func TestVisudoTakesTheShippedRules(t *testing.T) {
	for name, rules := range map[string]string{"all": shippedRules(t), "reading alone": readingAlone(t)} {
		path := t.TempDir() + "/sentinel"
		if err := os.WriteFile(path, []byte(rules), 0o440); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { testenv.Visudo(t, path) })
	}
}

// readingAlone narrows the rules as their comment describes.
func readingAlone(t *testing.T) string {
	t.Helper()
	return without(t, shippedRules(t), ops.GrantWrite)
}

// without deletes a grant from the last line.
func without(t *testing.T, rules string, g ops.Grant) string {
	t.Helper()
	less := strings.Replace(rules, ", "+string(g), "", 1)
	if less == rules {
		t.Fatalf("the last line does not have %s", g)
	}
	return less
}

// telling is a sentinel that prints its user, its arguments and its environment.
const telling = `#!/bin/sh
echo "ran $0 as $(id -u) with $*"
env
`

// install puts the programs of the stage where the shipped rules expect them.
const install = `mount -t tmpfs -o mode=755 tmpfs /usr/local/bin
cp -p /opt/bin/sentinel /usr/local/bin/sentinel
cp -p /opt/bin/sentinel /opt/bin/other
mkdir /opt/links
ln -s /usr/local/bin/sentinel /opt/links/sentinel
ln -s /usr/local/bin/sentinel /opt/links/guardian
echo 'sentinel:x:12346:sentineltest' >>/etc/group
install -o root -g root -m 0440 "$WORLD/rules" /etc/sudoers.d/sentinel
cp "$WORLD/attempts" /opt/attempts
`

// attempts runs each command line as a member of the group sentinel, and returns the output of
// each, with its exit status in the last line.
func attempts(t *testing.T, rules string, lines []string) []string {
	t.Helper()
	return attemptsWith(t, rules, telling, lines)
}

func attemptsWith(t *testing.T, rules, sentinel string, lines []string) []string {
	t.Helper()
	var script strings.Builder
	script.WriteString("#!/bin/sh\nexport SENTINEL_CONFIG=/tmp/evil LD_PRELOAD=/tmp/evil.so XDG_CONFIG_HOME=/tmp/evil BASH_ENV=/tmp/evil PYTHONPATH=/tmp/evil\nexport PATH=/opt/links:$PATH\n")
	for _, line := range lines {
		fmt.Fprintf(&script, "%s </dev/null 2>&1; echo \"exit $?\"; printf '\\036'\n", line)
	}
	files := map[string]string{"sudoers": silent, "rules": rules, "sentinel": sentinel, "attempts": script.String()}
	cmd := staged(t, files, install, "/bin/sh /opt/attempts")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	said := strings.Split(string(out), "\x1e")
	if err != nil || len(said) != len(lines)+1 {
		t.Fatalf("%v: %d answers to %d attempts\n%s%s", err, len(said)-1, len(lines), out, stderr.String())
	}
	return said[:len(lines)]
}

func through(tool string) string { return "sudo -n " + installed + " --request " + tool }

func TestShippedRulesLetTheirToolsThrough(t *testing.T) {
	tools := append(raised(true), raised(false)...)
	var lines []string
	for _, tool := range tools {
		lines = append(lines, through(tool))
	}
	for i, said := range attempts(t, shippedRules(t), lines) {
		if want := "ran " + installed + " as 0 with --request " + tools[i] + "\n"; !strings.HasPrefix(said, want) || !strings.HasSuffix(said, "exit 0\n") {
			t.Errorf("%s: %q, want %q", lines[i], said, want)
		}
		for line := range strings.Lines(said) {
			if strings.Contains(line, "evil") || strings.HasPrefix(line, "SENTINEL") || strings.HasPrefix(line, "LD_") {
				t.Errorf("%s: the caller's %s arrived", lines[i], line)
			}
		}
	}
}

func TestShippedRulesLetNothingElseThrough(t *testing.T) {
	var lines []string
	for _, op := range ops.All() {
		for _, more := range []string{" --force", " --dry-run", " extra", " ''", " --reason x", " --json", " --config /tmp/evil"} {
			lines = append(lines, through(op.Name)+more)
		}
		lines = append(lines, "sudo -n "+installed+" --request="+op.Name, "sudo -n "+installed+" --json --request "+op.Name,
			through(op.Name+"x"), through("'"+op.Name+" '"))
		if op.Privilege == ops.AnyUser {
			lines = append(lines, through(op.Name))
		}
	}
	for _, arguments := range []string{
		"", "''", "--json", "--kill 5", "--kill=5", "--block-ip 203.0.113.7", "--unblock-ip 203.0.113.7", "--fix-firewall", "--restart-service ssh",
		"--doctor", "--history", "--verify-journal", "--restore-blocklist", "--list-blocked", "--request", "--request doctor", "--request restore_blocklist",
		"--request '*'", "--relayed --request terminate_process", "--request 'terminate_process;id'", "--request TERMINATE_PROCESS",
	} {
		lines = append(lines, "sudo -n "+installed+" "+arguments)
	}
	const tool = " --request terminate_process"
	lines = append(lines,
		"sudo -n -E "+installed+tool, "sudo -n --preserve-env=SENTINEL_CONFIG "+installed+tool, "sudo -n SENTINEL_CONFIG=/tmp/evil "+installed+tool,
		"sudo -n LD_PRELOAD=/tmp/evil.so "+installed+tool, "sudo -n -u nobody "+installed+tool, "sudo -n -g root "+installed+tool,
		"sudo -n -D /tmp "+installed+tool, "sudo -n -R /tmp "+installed+tool,
		"sudo -n /opt/bin/other"+tool, "sudo -n /opt/bin/sentinel"+tool, "sudo -n /opt/links/guardian"+tool, "sudo -n guardian"+tool,
		"sudo -n /usr/local/bin/../bin/other"+tool, "sudo -n -s", "sudo -n -i", "sudo -n sh -c id", "sudo -n id", "sudo -n -e /etc/sudoers",
	)
	for i, said := range attempts(t, shippedRules(t), lines) {
		if strings.Contains(said, "ran ") || strings.Contains(said, "uid=") || !strings.HasSuffix(said, "exit 1\n") {
			t.Errorf("%s: %q, want a refusal", lines[i], said)
		}
	}
}

// sudo resolves a symbolic link; its target runs, whatever the name of the link.
func TestLinkToTheBinaryRunsTheBinaryOfTheRule(t *testing.T) {
	for i, said := range attempts(t, shippedRules(t), []string{
		"sudo -n /opt/links/sentinel --request terminate_process", "sudo -n sentinel --request terminate_process",
	}) {
		if strings.Contains(said, "ran ") && !strings.HasPrefix(said, "ran "+installed+" as 0 ") {
			t.Errorf("%d: %q", i, said)
		}
	}
}

// Each alias can be taken away, and takes its own tools with it and no others.
func TestAGrantCanBeTakenAwayAlone(t *testing.T) {
	tools := append(raised(true), raised(false)...)
	var lines []string
	for _, tool := range tools {
		lines = append(lines, through(tool))
	}
	for _, g := range ops.Grants()[1:] {
		t.Run(string(g), func(t *testing.T) {
			for i, said := range attempts(t, without(t, shippedRules(t), g), lines) {
				if ran := strings.HasPrefix(said, "ran "); ran == slices.Contains(g.Tools(), tools[i]) {
					t.Errorf("%s: %q", lines[i], said)
				}
			}
		})
	}
}

func TestWhoIsNotInTheGroupGetsNothing(t *testing.T) {
	rules := strings.Replace(shippedRules(t), "%sentinel ALL", "%root ALL", 1)
	for _, said := range attempts(t, rules, []string{through("get_system_health"), through("terminate_process")}) {
		if strings.Contains(said, "ran ") || !strings.HasSuffix(said, "exit 1\n") {
			t.Errorf("%q, want a refusal", said)
		}
	}
}
