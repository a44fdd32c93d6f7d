// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"os"
	"path"
	"slices"
	"strconv"
	"testing"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// disguised returns what is said of the process that runs a file.
func disguised(t *testing.T, program string) (processes.Disguise, string) {
	t.Helper()
	var pid int
	testenv.WaitFor(t, program, func() bool {
		table, _, err := New("/").Recent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range table {
			if link, err := New("/").proc.Link(p.PID, "exe"); err == nil && link == program {
				pid = p.PID
			}
		}
		return pid != 0
	})
	all, err := New("/").disguises(t.Context(), testenv.HangLimit)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if d.PID == pid {
			return d.Disguise, d.How
		}
	}
	return processes.NoDisguise, ""
}

// A container and a service have file systems of their own by root's doing. Any user makes one as well,
// which hides nothing.
func TestAMountNamespaceOfAUserHidesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	unshare := testenv.Program(t, "unshare", "util-linux")
	own := []string{"--user", "--map-root-user", "--mount"}
	for what, c := range map[string]struct {
		uid     uint32
		options []string
		program string
		want    processes.Disguise
		said    string
	}{
		"a daemon of a user":                        {1000, own, "/mnt/sshd", processes.Pretends, `calls itself sshd and runs "/mnt/sshd", in a file system of its user's, as in a rootless container`},
		"a daemon where the system has it":          {1000, own, "/usr/local/sbin/crond", processes.Hides, `calls itself crond and runs "/usr/local/sbin/crond", in a file system of its user's, as in a rootless container`},
		"a program of a user":                       {1000, own, "/tmp/hidden-x", processes.Hides, `runs a program from a folder for temporary files, "/tmp/hidden-x"`},
		"a program in memory of a user":             {1000, own, "/mnt/y", processes.Hides, `runs a program from a file system in memory that its user mounted, "/mnt/y"`},
		"with process IDs of its own":               {1000, append([]string{"--pid", "--fork", "--kill-child"}, own...), "/tmp/hidden-z", processes.Hides, `runs a program from a folder for temporary files, "/tmp/hidden-z"`},
		"a service that has its own temporary file": {0, []string{"--mount"}, "/tmp/hidden-s", processes.Hides, `runs a program from a folder for temporary files, "/tmp/hidden-s"`},
		"a container":                               {0, []string{"--mount", "--pid", "--fork", "--kill-child"}, "/tmp/hidden-c", processes.NoDisguise, ""},
		"a daemon in a container":                   {0, []string{"--mount", "--pid", "--fork", "--kill-child"}, "/mnt/cron", processes.NoDisguise, ""},
	} {
		t.Run(what, func(t *testing.T) {
			const script = `mount -t tmpfs -o mode=0755 t "${1%/*}" && cp /bin/sleep "$1" && exec "$1" 600`
			startedAs(t, c.uid, slices.Concat([]string{unshare, "unshare", "--propagation", "private"}, c.options, []string{"/bin/sh", "-c", script, "sh", c.program}))
			if got, how := disguised(t, c.program); got != c.want || how != c.said {
				t.Errorf("%d, %q, want %d, %q", got, how, c.want, c.said)
			}
		})
	}
}

// What a user mounts under another name is told by where it is, and only where that hides it.
func TestAProgramIsFoundBehindAMountOfItsUser(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "unshare", "util-linux")
	testenv.TmpOnDisk(t, "a")
	if err := os.Symlink("/tmp/a", "/srv/link"); err != nil {
		t.Fatal(err)
	}
	const copied = `cp /bin/sleep $1/$3; exec unshare --user --map-root-user --mount --propagation private sh -c "$2" sh "$1" "$3"`
	const temporary = "runs a program from a folder for temporary files that its user mounted elsewhere, "
	for what, c := range map[string]struct{ from, script, program, said string }{
		"a folder of /tmp": {"/tmp/a", `mount --bind "$1" /opt; exec /opt/$2 600`, "/opt/hidden-1", temporary},
		"all of it":        {"/tmp/a", `mount --rbind /srv /mnt; exec /mnt$1/$2 600`, "/mnt/tmp/a/hidden-2", temporary},
		"layers over a folder": {"/srv/b", `mount -t tmpfs t /mnt; mkdir /mnt/u /mnt/w; mount -t overlay -o lowerdir=/usr/bin,upperdir=/mnt/u,workdir=/mnt/w,userxattr o /opt; cp "$1/$2" /opt; umount -l /mnt; exec /opt/$2 600`,
			"/opt/hidden-6", "runs a program from a file system of its user's, mounted over a folder of the system, "},
		"a folder elsewhere":        {"/srv/b", `mount --bind "$1" /opt; exec /opt/$2 600`, "/opt/hidden-3", ""},
		"from where it was removed": {"/srv/b", `mount --bind "$1" /opt; cd /opt; umount -l /opt; exec ./$2 600`, "/hidden-4", "runs a program from a file system that neither the system nor the process has mounted, "},
		"where a link is here":      {"/tmp/a", `mount -t tmpfs t /srv; mkdir /srv/link; mount --bind "$1" /srv/link; exec /srv/link/$2 600`, "/srv/link/hidden-5", temporary},
	} {
		t.Run(what, func(t *testing.T) {
			p := startedAs(t, 33, []string{"/bin/sh", "sh", "-c", copied, "sh", c.from, c.script, path.Base(c.program)})
			want, state := processes.NoDisguise, "present"
			if c.said != "" {
				want, state, c.said = processes.Hides, "", c.said+strconv.Quote(c.program)
			}
			if got, how := disguised(t, c.program); got != want || how != c.said {
				t.Errorf("%d, %q, want %d, %q", got, how, want, c.said)
			}
			i := inspected(t, p.Pid)
			told := slices.ContainsFunc(i.Unavailable, func(m answer.Gap) bool { return m.Field == "program.state" })
			if i.Program == nil || i.Program.State != state || told != (state == "") {
				t.Errorf("%+v, %+v", i.Program, i.Unavailable)
			}
		})
	}
}

// From the mounts of the system a user runs what is in mounts of his own by way of /proc.
func TestAProgramIsFoundInAMountThatItsProcessDoesNotHave(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	unshare := testenv.Program(t, "unshare", "util-linux")
	const script = `mount -t tmpfs t /opt && cp /bin/sleep /opt/hidden-a && cp /bin/sleep /opt/hidden-b && exec /opt/hidden-a 600`
	p := startedAs(t, 33, []string{unshare, "unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "sh", "-c", script})
	testenv.WaitFor(t, "the file", func() bool {
		name, err := os.Readlink("/proc/" + strconv.Itoa(p.Pid) + "/exe")
		return err == nil && name == "/opt/hidden-a"
	})
	startedAs(t, 33, []string{"/proc/" + strconv.Itoa(p.Pid) + "/root/opt/hidden-b", "x", "600"})
	const want = `runs a program from a file system that neither the system nor the process has mounted, "/opt/hidden-b"`
	if got, how := disguised(t, "/opt/hidden-b"); got != processes.Hides || how != want {
		t.Errorf("%d, %q", got, how)
	}
}

// A file of root's at the path of a daemon proves nothing where its user put it there.
func TestAFileOfRootsThatAUserPutsInPlaceOfADaemonHidesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	unshare := testenv.Program(t, "unshare", "util-linux")
	const script = `mount -t tmpfs t /usr/local/sbin && touch "$1" && mount --bind /bin/sleep "$1" && exec "$1" 600`
	startedAs(t, 1000, []string{unshare, "unshare", "--map-root-user", "--mount", "/bin/sh", "-c", script, "sh", "/usr/local/sbin/crond"})
	const want = `calls itself crond and runs "/usr/local/sbin/crond", in a file system of its user's, as in a rootless container`
	if got, how := disguised(t, "/usr/local/sbin/crond"); got != processes.Hides || how != want {
		t.Errorf("%d, %q", got, how)
	}
}

// Whoever starts thousands of processes hides none that he started before.
func TestAnOlderProcessIsNotHiddenBehindThousands(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	old := startedAs(t, 1000, []string{"/bin/sleep", "sshd", "600"})
	honest := startedAs(t, 1000, []string{"/bin/sleep", "sleep", "600"})
	row := func(pid int) procfs.Process {
		return procfs.Process{ProcessStat: procfs.ProcessStat{PID: pid, Name: "sleep"}}
	}
	table := append([]procfs.Process{row(old.Pid)}, slices.Repeat([]procfs.Process{row(honest.Pid)}, 6000)...)
	l := &look{Source: New("/"), until: time.Now().Add(testenv.HangLimit)}
	if err := l.judgeAll(t.Context(), newestFirst(table)); err != nil {
		t.Fatal(err)
	}
	if len(l.found) != 1 || l.found[0].PID != old.Pid || l.found[0].Disguise != processes.Pretends {
		t.Errorf("%+v", l.found)
	}
}
