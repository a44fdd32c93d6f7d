// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/shellscript"
)

// commandLines are lines of units as the manuals allow them, some as hardly anybody writes them.
var commandLines = []string{
	"ExecStart=/opt/a b", "ExecStart=-/opt/a", "ExecStart=@/opt/a name b", "ExecStart=!!/opt/a\nExecStart=:/opt/b $x", "ExecStart=\"/opt/a b\" c", "ExecStart='/opt/'a", `ExecStart=/opt/\x61\142\u0063`,
	"ExecStart=/opt/a ; /opt/b", "ExecStart=/opt/a ; -@/opt/b name ; \"-/opt/c\" x", "ExecStart=; /opt/a ;", `ExecStart=/opt/a \; /opt/b`, "ExecStart=/opt/a ';' /opt/b", "ExecStart=/opt/a ;/opt/b", "ExecStart=/opt/a;",
	"ExecStart=\\\n  /opt/a \\\n# c\n  b", "ExecStart=/opt/a\r\nExecStop=/opt/b\r", "# c\rExecStart=/opt/a\x00ExecReload=/opt/b", "ExecStart=/opt/a\nExecStart=\nExecStart=/opt/b", "execstart=/opt/a\nExecStart=/opt/b",
	"[X-a]\nExecStart=/opt/a\n[Service]\nExecStart=/opt/b", "\xef\xbb\xbfExecStart=/opt/a", "ExecStart = /opt/a", "ExecStartPre=/opt/a\nExecStartPost=/opt/b\nExecCondition=/opt/c\nExecStopPost=/opt/d", "ExecStart=/opt/%%",
	"ExecStart=/opt/%p/%P/%j/%J/x%i/x%I", "ExecStart=%f", "ExecStart=/%n/%N", "ExecStart=%T/a\nExecStart=%V/b", "ExecStart=%t/a\nExecStart=%h/b", "ExecStart=%E/a\nExecStart=%C/b\nExecStart=%S/c\nExecStart=%L/d", "ExecStart=/opt/%u%U", "ExecStart=%Y/a\nExecStart=%y",
}

// systemctl show writes each command as "ExecStart={ path=/opt/a ; argv[]=/opt/a b ; …".
var commandShown = regexp.MustCompile(`(?m)^Exec\w+=\{ path=(.*?) ; argv`)

// What a unit is told to run is what systemd runs.
func TestSystemdRunsWhatIsToldOfUnits(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	texts := map[string]string{}
	for i, line := range commandLines {
		name := []string{"usr-xy", "opt-x@a-b"}[i%2] + strings.Repeat("z", i) + ".service"
		texts[name] = "[Service]\nType=oneshot\n" + line + "\n"
		if err := os.WriteFile("/run/systemd/system/"+name, []byte(texts[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("systemctl", "daemon-reload").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range texts {
		out, err := exec.Command("systemctl", "show", "--", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		var runs []string
		for _, match := range commandShown.FindAllSubmatch(out, -1) {
			runs = append(runs, path.Clean(string(match[1])))
		}
		u := unit{specifiers: systemSpecifiers(), fragment: "/run/systemd/system/" + name}
		u.read(name, text)
		told, err := u.programs(shellscript.NewReader(len(text)))
		for i := range told {
			told[i] = path.Clean(told[i])
		}
		slices.Sort(runs)
		slices.Sort(told)
		if runs = slices.Compact(runs); err != nil || len(runs) == 0 || !slices.Equal(runs, slices.Compact(told)) {
			t.Errorf("%s with %q runs %q, told are %q, %v", name, text, runs, told, err)
		}
	}
}
