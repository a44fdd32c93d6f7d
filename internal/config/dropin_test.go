// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// dropInTree creates a configuration with files beside it, and returns its path.
func dropInTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := directory(t)
	if err := os.Mkdir(filepath.Join(dir, DropInDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		write(t, filepath.Join(dir, name), content)
	}
	return filepath.Join(dir, "config.yaml")
}

func TestLaterFilesOverrideEarlierOnesKeyByKey(t *testing.T) {
	path := dropInTree(t, map[string]string{
		"config.yaml":               "agent_id: base\nthresholds:\n  disk: {warning: 70}\n  cpu: {warning: 50}\nprotect:\n  services: [postgresql]\nwebhook:\n  tags: {role: web, site: north}\n",
		"config.d/10-disk.yaml":     "thresholds:\n  disk: {critical: 90}\n",
		"config.d/9-last.yaml":      "agent_id: nine\n", // behind 10, since names are compared as text
		"config.d/20-empty.yaml":    "",
		"config.d/30-keys.yaml":     "thresholds:\npolicy:\n",
		"config.d/50-list.yaml":     "protect:\n  services: [nginx]\nwebhook:\n  tags: {role: db}\n",
		"config.d/60.yaml.bak":      "nonsense: 1",
		"config.d/.70.yaml":         "nonsense: 1",
		"config.d/80.yaml~":         "nonsense: 1",
		"config.d/90.rpmnew":        "nonsense: 1",
		"config.d/README":           "nonsense: 1",
		"config.d/99.yaml.dpkg-old": "nonsense: 1",
	})
	c, err := Load(path, false)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	want := []string{path}
	for _, name := range []string{"10-disk", "20-empty", "30-keys", "50-list", "9-last"} {
		want = append(want, filepath.Join(dir, DropInDir, name+".yaml"))
	}
	if diff := cmp.Diff(want, c.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	got := fmt.Sprint(c.AgentID, c.Thresholds["disk"].Level, c.Thresholds["cpu"].Warning, c.Protect.Services, c.Webhook.Tags)
	if want := "nine{70 90} 50 [nginx] map[role:db site:north]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAKeyWithoutValueSwitchesNoPolicyOff(t *testing.T) {
	const base = "policy: {disabled_tools: [terminate_process], read_only: true, destructive_per_minute: 2}\nprotect: {services: [nginx], processes: [x], addresses: [192.0.2.1]}\n" +
		"scan: {targets: [192.0.2.0/24]}\naudit: {exempt: [{id: a, reason: b}]}\nwebhook: {tags: {role: web}}\nthresholds: {cpu: {warning: 50}}\n"
	const without = "policy:\n  disabled_tools:\n  #  - restart_service\n  enabled_tools:\n  read_only:\n  destructive_per_minute:\nprotect: {services: , processes: , addresses: }\n" +
		"scan: {targets: }\naudit: {exempt: }\nwebhook: {tags: , endpoints: }\nthresholds: {cpu: }\n"
	want, err := Load(dropInTree(t, map[string]string{"config.yaml": base}), false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(dropInTree(t, map[string]string{"config.yaml": base, "config.d/a.yaml": without}), false)
	if err != nil {
		t.Fatal(err)
	}
	want.Files, got.Files = nil, nil
	if diff := cmp.Diff(want, got, comparePrefixes); diff != "" {
		t.Errorf("-with +without\n%s", diff)
	}
	emptied, err := Load(dropInTree(t, map[string]string{"config.yaml": base, "config.d/a.yaml": "policy: {disabled_tools: []}\n"}), false)
	if err != nil || len(emptied.Policy.DisabledTools) != 0 {
		t.Errorf("an empty list: %v, %v", emptied.Policy.DisabledTools, err)
	}
}

func TestFilesBesideAreReadWithoutTheFileAndNotWithANamedOne(t *testing.T) {
	path := dropInTree(t, map[string]string{"config.d/a.yaml": "agent_id: beside\n"})
	if c, err := Load(path, false); err != nil || c.AgentID != "beside" {
		t.Errorf("without the file: %q, %v", c.AgentID, err)
	}
	write(t, path, "agent_id: named\n")
	if c, err := Load(path, true); err != nil || c.AgentID != "named" || len(c.Files) != 1 {
		t.Errorf("a named file: %q of %v, %v", c.AgentID, c.Files, err)
	}
}

func TestAWrongFileBesideIsNamedAndNeverLeftOut(t *testing.T) {
	many := map[string]string{}
	for i := range maxDropIns + 1 {
		many[fmt.Sprintf("config.d/%03d.yaml", i)] = ""
	}
	for name, test := range map[string]struct {
		files map[string]string
		spoil func(t *testing.T, dir string)
		want  string // of the message
	}{
		"an unknown key":         {map[string]string{"config.d/a.yaml": "", "config.d/b.yaml": "x: 1"}, nil, "config.d/b.yaml cannot be used: line 1: there is no setting x"},
		"a value out of range":   {map[string]string{"config.d/a.yaml": "thresholds: {cpu: {warning: 99}}"}, nil, "config.d/a.yaml cannot be used: thresholds.cpu: warning 99 is above critical 98"},
		"another ending":         {map[string]string{"config.d/a.yml": ""}, nil, `config.d cannot be used: only names that end in .yaml are read, and there is "a.yml"`},
		"too many files":         {many, nil, "config.d cannot be used: it has more than 100 files"},
		"a file others write":    {map[string]string{"config.d/a.yaml": ""}, func(t *testing.T, dir string) { chmod(t, dir+"/a.yaml", 0o666) }, "config.d/a.yaml cannot be used: "},
		"a directory others can": {nil, func(t *testing.T, dir string) { chmod(t, dir, 0o777) }, "config.d can be written by others"},
		"a file in its place": {nil, func(t *testing.T, dir string) {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			write(t, dir, "")
		}, "config.d cannot be used: "},
		"a directory as a file": {nil, func(t *testing.T, dir string) {
			if err := os.Mkdir(dir+"/a.yaml", 0o755); err != nil {
				t.Fatal(err)
			}
		}, "config.d/a.yaml cannot be used: it is not a regular file"},
		"a link to nothing": {nil, func(t *testing.T, dir string) {
			if err := os.Symlink("nowhere", dir+"/a.yaml"); err != nil {
				t.Fatal(err)
			}
		}, "config.d/a.yaml cannot be used: "},
	} {
		t.Run(name, func(t *testing.T) {
			path := dropInTree(t, test.files)
			if test.spoil != nil {
				test.spoil(t, filepath.Join(filepath.Dir(path), DropInDir))
			}
			_, err := Load(path, false)
			if f := fault.From(err); err == nil || f.Code != fault.ConfigInvalid || !strings.Contains(f.Message, test.want) {
				t.Errorf("got %v, want CONFIG_INVALID with %q", err, test.want)
			}
		})
	}
}

func TestAFileBesideOfSomebodyElseIsRefused(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to give files away")
	for _, name := range []string{"config.d/a.yaml", "config.d"} {
		path := dropInTree(t, map[string]string{"config.d/a.yaml": ""})
		if err := os.Chown(filepath.Join(filepath.Dir(path), name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, false); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// dpkg asks about a configuration that its administrator and the package have both
// changed, so the package never changes it.
func TestThePackagedFileSetsNothing(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "packaging", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "# ") {
			t.Errorf("it sets %q", line)
		}
	}
	if got, want := fmt.Sprintf("%x", sha256.Sum256(raw)), "61fdc78ea37f8fe2105c0db8965b29f0d87f4b5ee16dbeac57911831138c46dd"; got != want {
		t.Errorf("the file of the package has changed to %s", got)
	}
}
