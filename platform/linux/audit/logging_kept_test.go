// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// What systemd puts together of these files is what is read here.
func TestDropInsCountAsSystemdHasThem(t *testing.T) {
	program := testenv.Program(t, "systemd-analyze", "systemd")
	const file = "systemd/journald.conf"
	storage := func(value string) string { return "[Journal]\nStorage=" + value + "\n" }
	for name, c := range map[string]struct {
		files, links map[string]string
		want         string
	}{
		"the file alone":            {map[string]string{"etc/" + file: storage("none")}, nil, "none"},
		"by name, not by folder":    {map[string]string{"usr/lib/" + file + ".d/50.conf": storage("volatile"), "etc/" + file + ".d/10.conf": storage("persistent")}, nil, "volatile"},
		"of the running system":     {map[string]string{"etc/" + file: storage("persistent"), "run/" + file + ".d/a.conf": storage("volatile")}, nil, "volatile"},
		"one name in two folders":   {map[string]string{"usr/lib/" + file + ".d/a.conf": storage("volatile"), "etc/" + file + ".d/a.conf": storage("persistent")}, nil, "persistent"},
		"masked":                    {map[string]string{"etc/" + file: storage("persistent"), "usr/lib/" + file + ".d/a.conf": storage("volatile")}, map[string]string{"etc/" + file + ".d/a.conf": "/dev/null"}, "persistent"},
		"of this machine":           {map[string]string{"usr/local/lib/" + file + ".d/a.conf": storage("none")}, nil, "none"},
		"the file of the packages":  {map[string]string{"usr/lib/" + file: storage("volatile")}, nil, "volatile"},
		"without the ending":        {map[string]string{"etc/" + file: storage("none"), "etc/" + file + ".d/a.conf.bak": storage("persistent")}, nil, "none"},
		"the file before drop-ins":  {map[string]string{"etc/" + file: storage("persistent"), "usr/lib/" + file + ".d/a.conf": storage("none")}, nil, "none"},
		"nothing that sets it here": {map[string]string{"etc/" + file: "[Journal]\nSystemMaxUse=1G\n"}, nil, ""},
	} {
		root := testenv.Plant(t, c.files)
		for link, to := range c.links {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
		}
		m := &machine{Parts: Parts{Root: root}}
		files, err := m.systemdFiles("journald.conf")
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := m.iniSetting("Journal", "Storage", files...)
		out, failed := exec.CommandContext(t.Context(), program, "--root="+root, "--no-pager", "cat-config", file).Output()
		said, _ := parseINI(string(out), "Journal", "Storage")
		if err != nil || got != c.want || failed == nil && said != c.want {
			t.Errorf("%s: %q, %v, want %q; systemd-analyze: %q, %v\n%s", name, got, err, c.want, said, failed, strings.TrimSpace(string(out)))
		}
	}
}
