// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/startup"
	"sentinel/internal/testenv"
)

// jobsOf are the entries of a table of root: programs by name, contents by name.
func jobsOf(t *testing.T, table string, others ...string) (programs map[string][]string, contents map[string]string) {
	t.Helper()
	files := map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/crontab": table}
	for _, name := range others {
		files[name] = ""
	}
	programs, contents = map[string][]string{}, map[string]string{}
	for _, e := range surveyed(t, testenv.Plant(t, files), nil).Entries {
		contents[e.Name] = e.Content
		programs[e.Name] = nil
		for _, p := range e.Programs {
			programs[e.Name] = append(programs[e.Name], p.Path)
		}
	}
	return programs, contents
}

// A job that reads other input is another, and the input is a script where a shell reads it.
func TestTheInputOfAJobIsPartOfIt(t *testing.T) {
	before, _ := jobsOf(t, "0 1 * * * root /bin/sh%/usr/bin/backup\n")
	after, _ := jobsOf(t, "0 1 * * * root /bin/sh%/tmp/.evil --beacon\n")
	if diff := cmp.Diff(map[string][]string{"crontab: backup": {"/bin/sh", "/usr/bin/backup"}}, before); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"crontab: .evil": {"/bin/sh", "/tmp/.evil"}}, after); diff != "" {
		t.Error(diff)
	}
	_, one := jobsOf(t, "0 1 * * * root mail mira%a\n")
	_, other := jobsOf(t, "0 1 * * * root mail mira%b\n")
	if name := "crontab: mail"; one[name] == "" || one[name] == other[name] {
		t.Errorf("%q and %q", one, other)
	}
}

// What cron runs is a job, whatever bytes it has.
func TestJobsHaveAnyBytes(t *testing.T) {
	minutes := strings.TrimSuffix(strings.Repeat("1,", 60), ",")
	got, _ := jobsOf(t, "@reboot root /opt/a > /x #\xe9\n@daily root /opt/b #\x01\n"+minutes+" * * * * root /opt/c\n")
	want := map[string][]string{"crontab: a": {"/opt/a"}, "crontab: b": {"/opt/b"}, "crontab: c": {"/opt/c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Lines that are not read are not the same when they are others, nor is a table that is too long.
func TestWhatIsNotReadOfATableHasADigest(t *testing.T) {
	const name = "crontab: what is not read"
	seen := map[string]bool{}
	for _, table := range []string{"", "no job\n", "another\n", strings.Repeat("#", maxFile+1), strings.Repeat("#", maxFile+2)} {
		programs, contents := jobsOf(t, table)
		if _, is := programs[name]; is != (table != "") || is && (contents[name] == "" || seen[contents[name]]) {
			t.Errorf("%.10q: %v, %q", table, is, contents[name])
		}
		seen[contents[name]] = true
	}
}

// A program without a directory is the one that cron finds by the PATH of its table.
func TestJobsAreFoundByThePathOfTheirTable(t *testing.T) {
	found := []string{"mnt/.x/ls", "usr/bin/ls", "usr/bin/id", "usr/bin/df"}
	for table, want := range map[string]map[string][]string{
		"PATH=/mnt/.x:/usr/bin\n@daily root ls\n@weekly root id\n":                     {"crontab: PATH": {"/mnt/.x/"}, "crontab: ls": {"/mnt/.x/ls"}, "crontab: id": {"/usr/bin/id"}},
		"@daily root ls\nPATH=/usr/bin:/bin\n@weekly root id\n":                        {"crontab: ls": {"/usr/bin/ls"}, "crontab: id": {"/usr/bin/id"}},
		"PATH=x:/usr/bin\n@daily root ls\n":                                            {"crontab: PATH": nil, "crontab: ls": {"ls"}},
		"PATH=/mnt/.x:/usr/bin\n@daily root PATH=/opt:$PATH df\n":                      {"crontab: PATH": {"/mnt/.x/"}, "crontab: df": {"/opt/", "$PATH/df"}},
		"PATH=" + strings.Repeat("/none:", maxSearched) + "/usr/bin\n@daily root ls\n": {"crontab: PATH": slices.Repeat([]string{"/none/"}, maxSearched), "crontab: ls": {"ls"}},
	} {
		got, _ := jobsOf(t, table, found...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.40q: %s", table, diff)
		}
	}
}

// What variables make the programs of a unit, or of a job of at, load is told, and no program of the system is
// named for one that is looked for elsewhere.
func TestVariablesOfAUnitSayWhereItsProgramsAre(t *testing.T) {
	got := map[string][]string{}
	for _, e := range surveyed(t, testenv.Plant(t, map[string]string{
		"etc/passwd":                   "root:x:0:0::/root:/bin/sh\n",
		"etc/systemd/system/a.service": "[Service]\nExecStart=/bin/sh -c ls\nEnvironment=PATH=/mnt/.x:/usr/bin LD_LIBRARY_PATH=/opt/l\n",
		"etc/systemd/system/b.service": "[Service]\nExecStart=ls\nExecSearchPath=/mnt/.x\n",
		"etc/systemd/system/c.service": "[Service]\nExecStart=/bin/sh -c ls\nEnvironmentFile=/etc/v\n",
		"etc/systemd/system/d.service": "[Service]\nExecStart=/bin/sh -c ls\nEnvironment=PATH=/usr/bin:/bin FOO=/opt/x\n",
		"etc/v":                        "PATH=/mnt/.x:/usr/bin\nPYTHONPATH=/opt/p\n",
		"usr/bin/ls":                   "", "mnt/.x/ls": "",
		"var/spool/cron/atjobs/a0000101b9d2a0": "#!/bin/sh\nPATH=/mnt/.x:/bin; export PATH\ncd /root || {\n\t exit 1\n}\nls\n",
	}), nil).Entries {
		if e.Kind == startup.Service || e.Kind == startup.AtJob {
			for _, p := range e.Programs {
				got[e.Name] = append(got[e.Name], p.Path)
			}
		}
	}
	want := map[string][]string{
		"a.service": {"/bin/sh", "$PATH/ls", "/mnt/.x/", "/opt/l/"}, "b.service": {"$PATH/ls", "/mnt/.x/"}, "c.service": {"/bin/sh", "$PATH/ls", "/mnt/.x/", "/opt/p/"}, "d.service": {"/bin/sh", "/usr/bin/ls"},
		"a0000101b9d2a0": {"$PATH/ls", "/mnt/.x/"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What run-parts runs is told to run, by whichever of its rules.
func TestRunPartsTakesTheNamesThatAreTold(t *testing.T) {
	program, directory := testenv.Program(t, "run-parts", "debianutils"), t.TempDir()
	names := []string{
		"a", "A_b", "10-x", "x.y", "x.y-z", "00.evil-a", "_a.b-c", "_x", ".x-y", "x.dpkg-old", "a-x.dpkg-old", "_x.dpkg-old", "a.b-dpkg-old", "evil.sh", "50.evil.x-1", "A.b-c", "a.B-c", "x.dpkg-tmp", "x~",
		"a.rpmsave-x", "a b", "x.-y", "a--b", "-a", "-", "x.ucf-old", "9.9-9", "x-", "é",
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for option, lsb := range map[string]bool{"--lsbsysinit": true, "--exit-on-error": false} {
		out, err := exec.CommandContext(t.Context(), program, option, "--list", directory).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if runs := strings.Contains(string(out), directory+"/"+name+"\n"); runs != isRunPart(name, lsb) {
				t.Errorf("%s %q: %v", option, name, runs)
			}
		}
	}
	root := testenv.Plant(t, map[string]string{"var/lib/dpkg/status": "", "etc/update-motd.d/00.evil-a": "/opt/a\n", "etc/update-motd.d/A_b": "/opt/b\n", "etc/cron.daily/00.evil-a": "/opt/a\n"})
	for _, name := range []string{"update-motd.d/00.evil-a", "update-motd.d/A_b", "cron.daily/00.evil-a"} {
		if err := os.Chmod(filepath.Join(root, "etc", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	on := map[string]bool{}
	for _, e := range surveyed(t, root, nil).Entries {
		on[e.File] = *e.Enabled
	}
	if diff := cmp.Diff(map[string]bool{"/etc/update-motd.d/00.evil-a": true, "/etc/update-motd.d/A_b": false, "/etc/cron.daily/00.evil-a": false}, on); diff != "" {
		t.Error(diff)
	}
}
