// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// pacmanCases are files by which pacman takes what nobody signed, or does not. ROOT stands for the folder of the
// files where pacman itself reads them.
var pacmanCases = map[string]struct{ config, included, says string }{
	"as Arch has it":         {"[options]\nSigLevel = Required DatabaseOptional\nLocalFileSigLevel = Optional\n[core]\nServer = http://x.example\n", "", ""},
	"optional":               {"[options]\nSigLevel = Optional\n[core]\nServer = http://x.example\n", "", "/etc/pacman.conf:2: SigLevel = Optional"},
	"optional for packages":  {"[options]\nSigLevel = Required\n[core]\nSigLevel = PackageOptional\n", "", "/etc/pacman.conf:4: SigLevel = PackageOptional"},
	"nowhere":                {"[options]\n[core]\nServer = http://x.example\n", "", "/etc/pacman.conf: SigLevel is not set: a package without a signature is taken"},
	"where it matters":       {"[options]\n[core]\nSigLevel = Required\n", "", ""},
	"a list of glob(3)":      {"[options]\nSigLevel = Required\n[core]\nInclude = ROOT/etc/own/[!b]*.list\n", "SigLevel=Never\n", "/etc/own/a.list:1: SigLevel=Never"},
	"never, included":        {"[options]\nSigLevel = Required\n[core]\nInclude = ROOT/etc/own/*.list\n", "SigLevel=Never\n", "/etc/own/a.list:1: SigLevel=Never"},
	"a section, included":    {"[options]\nSigLevel = Required\n[core]\nInclude = ROOT/etc/own/a.list\nSigLevel = Never\n", "[extra]\n", "/etc/pacman.conf:5: SigLevel = Never"},
	"trusts all":             {"[options]\nSigLevel = Required TrustAll\n[core]\n", "", "/etc/pacman.conf:2: SigLevel = Required TrustAll"},
	"taken back":             {"[options]\nSigLevel = Required\n[core]\nSigLevel = Optional TrustAll\nSigLevel = PackageRequired PackageTrustedOnly\n", "", ""},
	"databases alone":        {"[options]\nSigLevel = Required DatabaseNever DatabaseTrustAll\n[core]\n", "", ""},
	"in a folder beside it":  {"[options]\nSigLevel = Required\n[core]\n", "", ""},
	"a comment with a level": {"[options]\nSigLevel = Required\n[core]\n#SigLevel = Never\n", "", ""},
}

func pacmanFiles(config, included, root string) map[string]string {
	return map[string]string{
		"usr/bin/pacman": "", "var/lib/pacman/local/x": "", "etc/pacman.d/unused.conf": "SigLevel = Never\n",
		"etc/pacman.conf": strings.ReplaceAll(config, "ROOT", root), "etc/own/a.list": included,
	}
}

func TestPacmanTakesSignedPackagesAlone(t *testing.T) {
	for name, c := range pacmanCases {
		got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, pacmanFiles(c.config, c.included, ""))})
		if c.says == "" && got.Status != audit.Pass || c.says != "" && (got.Status != audit.Fail || len(got.Evidence) != 1 || got.Evidence[0] != c.says) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
	for name, config := range map[string]string{"nothing there": "[core]\nInclude = /none\n", "a wildcard in a folder": "[core]\nInclude = /etc/*/x\n", "itself": "[core]\nInclude = /etc/pacman.conf\n"} {
		got := one(t, "updates.authenticated", Parts{Root: testenv.Plant(t, pacmanFiles("[options]\nSigLevel = Required\n"+config, "", ""))})
		if got.Status != "" || !got.Applies {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// pacman says the same of these files.
func TestPacmanReadsItsFilesSo(t *testing.T) {
	program := testenv.Program(t, "pacman-conf", "pacman")
	for name, c := range pacmanCases {
		root := t.TempDir()
		for file, text := range pacmanFiles(c.config, c.included, root) {
			plant(t, filepath.Join(root, file), []byte(text))
		}
		out, err := exec.CommandContext(t.Context(), program, "--config", filepath.Join(root, "etc/pacman.conf")).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if secure := pacmanSays(string(out)); secure != (c.says == "") {
			t.Errorf("%s: pacman has it secure: %v\n%s", name, secure, out)
		}
	}
}

// pacmanSays reads what pacman-conf prints: a repository without levels has those of the options.
func pacmanSays(out string) (secure bool) {
	secure, common, own := true, "", ""
	for _, section := range strings.Split(out, "[")[1:] {
		name, text, _ := strings.Cut(section, "]")
		if own = text; name == "options" {
			common = text
			continue
		}
		if !strings.Contains(own, "\nSigLevel") {
			own = common
		}
		secure = secure && strings.Contains(own, "= PackageRequired") && strings.Contains(own, "= PackageTrustedOnly")
	}
	return secure
}

func FuzzPacman(f *testing.F) {
	for _, c := range pacmanCases {
		f.Add(c.config)
	}
	f.Fuzz(func(t *testing.T, config string) {
		r := pacmanReader{m: &machine{Parts: Parts{Root: testenv.Plant(t, map[string]string{"etc/pacman.conf": config})}}, lines: map[string][]sourceLine{}}
		r.file(pacmanConfig, 0)
		for _, name := range r.names {
			if !strings.Contains(config, name) {
				t.Errorf("%q", name)
			}
			r.level(name, sigLevel{})
		}
	})
}
