// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/audit"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
)

// shellAs runs a script as a user, which says a line once it has started what it starts. All of it ends with the test.
func shellAs(t *testing.T, uid int, script string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-ec", script, "sh"}, arguments...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), NoSetGroups: true}, Setpgid: true}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Kill(-c.Process.Pid, unix.SIGKILL); c.Wait() })
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal("it did not start: ", err)
	}
}

// Under whatever path a user has mounted the file of a program, it is gone where others would look for it.
func TestAMountOfAUserHidesNoProgramThatIsGone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "unshare", "util-linux")
	testenv.TmpOnDisk(t, "x")
	const started = `exec 3>&1 >/dev/null; "$1" 600 3>&- & until [ "$(readlink /proc/$!/exe)" = "$1" ]; do :; done; `
	const own = `exec unshare --user --map-root-user --mount --propagation private sh -ec "$0" sh "$1"`
	inOwn := func(script string) string { return strings.Replace(own, `"$0"`, `'`+script+`'`, 1) }
	for what, c := range map[string]struct {
		script, program string
		want            audit.Status
		says            string
	}{
		"removed from /tmp": {`cp /bin/sleep "$1"; ` + started + `rm "$1"; echo >&3; wait`, "/tmp/x/gone-0", audit.Fail, "/tmp/x/gone-0 (deleted), called gone-0"},
		"removed from /tmp, mounted elsewhere": {inOwn(`mount --bind /tmp/x /opt; cp /bin/sleep "$1"; ` + started + `rm "$1"; echo >&3; wait`), "/opt/gone-1", audit.Fail,
			"/opt/gone-1 (deleted), called gone-1, from a folder for temporary files that its user mounted elsewhere"},
		"in a file system that was taken away": {inOwn(`mount -t tmpfs t /opt; cp /bin/sleep "$1"; ` + started + `umount -l /opt; echo >&3; wait`), "/opt/gone-2", audit.Fail,
			"/gone-2, called gone-2, from a file system that neither the system nor the process has mounted"},
		"in memory of its own":    {inOwn(`mount -t tmpfs t /opt; cp /bin/sleep "$1"; ` + started + `echo >&3; wait`), "/opt/gone-3", audit.Fail, "/opt/gone-3, called gone-3, from a file system in memory that its user mounted"},
		"removed from elsewhere":  {inOwn(`mount --bind /srv/b /opt; cp /bin/sleep "$1"; ` + started + `rm "$1"; echo >&3; wait`), "/opt/gone-4", audit.Warn, "/opt/gone-4 (deleted), called gone-4"},
		"still where it began":    {inOwn(`mount --bind /srv/b /opt; cp /bin/sleep "$1"; ` + started + `echo >&3; wait`), "/opt/gone-5", audit.Pass, ""},
		"still in a folder there": {inOwn(`mount --bind /tmp/x /opt; cp /bin/sleep "$1"; ` + started + `echo >&3; wait`), "/opt/gone-6", audit.Pass, ""},
	} {
		t.Run(what, func(t *testing.T) {
			shellAs(t, 33, c.script, c.program)
			f := here(t, "processes.program_gone")
			if f.Status != c.want || c.says != "" && (len(f.Evidence) != 1 || !strings.HasSuffix(f.Evidence[0], "/exe: "+c.says) || f.Owners[0] != "33") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A path that is too long hides no program, and nobody is told that it is in memory.
func TestAProgramAtAPathThatIsTooLongIsToldAsThat(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.TmpOnDisk(t, "x")
	const descend = `cd /tmp/x; d=$(printf %0200d 0); for i in $(seq 25); do mkdir -p $d; cd -P ./$d; done; rm -f job; cp /bin/sleep job; ./job 600 >/dev/null & p=$!; while readlink /proc/$p/exe >&2; do :; done 2>/dev/null; `
	for what, c := range map[string]struct{ script, says string }{
		"present": {descend + `echo; wait`, "/(a path of more than 4,095 bytes), called job, from a path that is too long to be looked up"},
		"removed": {descend + `rm job; echo; wait`, "/(a path of more than 4,095 bytes) (deleted), called job, from a path that is too long to be looked up"},
	} {
		t.Run(what, func(t *testing.T) {
			shellAs(t, 33, c.script)
			f := here(t, "processes.program_gone")
			if f.Status != audit.Fail || len(f.Evidence) != 1 || !strings.HasSuffix(f.Evidence[0], "/exe: "+c.says) || f.Owners[0] != "33" {
				t.Errorf("%+v", f)
			}
		})
	}
}

// Nobody but its user can look into an overlay of his: over a folder of the system it is told, and in a root of its own,
// as a rootless container has, it is counted.
func TestAProgramInLayersOfItsUserIsNotPassedOver(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "unshare", "util-linux")
	const layers = `exec 3>&1 >/dev/null; mount -t tmpfs t /mnt; mkdir /mnt/u /mnt/w
		mount -t overlay -o lowerdir=/usr,upperdir=/mnt/u,workdir=/mnt/w,userxattr o /opt; cp /bin/sleep /opt/gone
		"$@" 600 3>&- & until [ "$(readlink /proc/$!/exe)" = /opt/gone ]; do :; done; umount -l /mnt; echo >&3; wait`
	own := []string{"--user", "--map-root-user", "--mount", "--propagation", "private", "sh", "-ec", layers, "sh"}
	const covering, container = "from a file system of its user's, mounted over a folder of the system", "; 1 program runs from a file system of its user's, as in a rootless container"
	for what, c := range map[string]struct {
		program        []string
		want           audit.Status
		evidence, says string
	}{
		"over a folder":  {[]string{"/opt/gone"}, audit.Fail, "/opt/gone, called gone, " + covering, ""},
		"as all it sees": {[]string{"chroot", "/opt", "/gone"}, audit.Pass, "", container},
	} {
		t.Run(what, func(t *testing.T) {
			shellAs(t, 33, `exec unshare "$@"`, slices.Concat(own, c.program)...)
			f := here(t, "processes.program_gone")
			if f.Status != c.want || !strings.HasSuffix(f.Value+f.Reason, c.says) || !strings.HasSuffix(strings.Join(f.Evidence, "\n"), c.evidence) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// What the kernel shows in the place of a program, as any user can have it do, is not what runs.
func TestAProgramThatIsOnlyShownIsGone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	mounted(t, "/mnt")
	copyOf(t, "/bin/sleep", "/mnt/shown/chronyd", 0o755)
	p := testenv.Imposter(t, "/mnt/chronyd", 999, "/mnt/shown/chronyd")
	f := here(t, "processes.program_gone")
	want := "/proc/" + strconv.Itoa(p.Pid) + "/exe: /mnt/shown/chronyd, called chronyd, of which it has loaded nothing: it runs from memory"
	if f.Status != audit.Fail || len(f.Evidence) != 1 || f.Evidence[0] != want || f.Owners[0] != "999" {
		t.Errorf("%+v", f)
	}
	if runsNow(t, &machine{Parts: Parts{Root: "/"}}, "chronyd") {
		t.Error("it is a time service")
	}
	m := &machine{Parts: Parts{Root: t.TempDir()}}
	clone := runningProcess{pid: 7, thread: 7, name: "6", program: "/memfd:runc_cloned:/proc/self/exe (deleted)"}
	if f := m.judgeDeleted(t.Context(), []runningProcess{clone}, map[int]processes.Claim{7: {Program: "/memfd:runc_cloned:/proc/self/exe", Removed: true, Unmapped: true}}); f.Status != audit.Fail {
		t.Errorf("shown with a copy of runc: %+v", f)
	}
}

// What cannot be found out of a process is no pass, and costs no other its verdict.
func TestAProgramThatIsNotFoundOutIsNoPass(t *testing.T) {
	root := testenv.Plant(t, map[string]string{"proc/1/comm": "init\n", "proc/7/comm": "x\n", "proc/8/comm": "x\n", "proc/8/task/9/comm": "x\n",
		"proc/8/stat": "8 (x) S 1 8 8 0 -1 0 0 0 0 0 0 0 0 0 20 0 2 0 50 0 0\n"})
	for _, process := range []string{"1", "7", "8", "8/task/9"} {
		if err := os.Symlink("/usr/bin/x", filepath.Join(root, "proc", process, "exe")); err != nil {
			t.Fatal(err)
		}
	}
	type answer struct {
		gone map[int]processes.Claim
		lost []int
		err  error
	}
	memory := map[int]processes.Claim{8: {Program: "/memfd:x", Removed: true}}
	for what, c := range map[string]struct {
		answer
		want audit.Status
		says string
	}{
		"nothing gone":             {answer{}, audit.Pass, "None of 3 processes"},
		"one that has ended":       {answer{lost: []int{7}}, audit.Pass, "None of 3 processes"},
		"one whose threads change": {answer{lost: []int{8}}, "", "1 process cannot be looked at: their threads end"},
		"no mounts":                {answer{err: errors.New("broken")}, "", "where programs are: broken"},
		"no mounts of some":        {answer{gone: memory, err: errors.New("broken")}, audit.Fail, "1 program runs from memory, or from a file that was removed or that its user alone can find; not all was read: where programs are: broken"},
	} {
		p := Parts{Root: root, Owner: os.Geteuid(), GonePrograms: func(_ context.Context, threads []int) (map[int]processes.Claim, []int, error) {
			if len(threads) != 3 {
				t.Errorf("%s: asked for %v", what, threads)
			}
			return c.gone, c.lost, c.err
		}}
		if f := one(t, "processes.program_gone", p); f.Status != c.want || f.Value+f.Reason != c.says {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// A user with any number of programs that are gone hides none of others.
func TestProgramsThatAreGoneAreSharedBetweenUsers(t *testing.T) {
	var all []runningProcess
	for pid := range 2_000 {
		all = append(all, runningProcess{pid: pid, thread: pid, uid: 1000, name: "x", program: "/tmp/x (deleted)"})
	}
	all = append(all, runningProcess{pid: 5_000, thread: 5_000, name: "x", program: "/memfd:x (deleted)"}, runningProcess{pid: 5_001, thread: 5_001, uid: 1001, name: "x", program: "/opt/x (deleted)"})
	f := (&machine{Parts: Parts{Root: t.TempDir()}}).judgeDeleted(t.Context(), all, nil)
	if n := len(f.Evidence); n != 2_002 || f.Evidence[0] != "/proc/5000/exe: /memfd:x (deleted), called x" || f.Owners[0] != "" || f.Owners[1] != "1000" || f.Owners[n-1] != "1001" {
		t.Errorf("%d lines, the first %q", n, f.Evidence[:min(n, 2)])
	}
}

// Of what a loader runs, the loader is told and what it has loaded, and no name makes that runc's.
func TestWhatALoaderRunsIsToldOfBoth(t *testing.T) {
	m := &machine{Parts: Parts{Root: t.TempDir()}}
	p := runningProcess{pid: 7, thread: 7, name: "sleepd", program: "/lib64/ld.so"}
	f := m.judgeDeleted(t.Context(), []runningProcess{p}, map[int]processes.Claim{7: {Program: "/memfd:runc_cloned:/proc/self/exe", Removed: true, Loader: "/lib64/ld.so"}})
	if f.Status != audit.Fail || len(f.Evidence) != 1 || f.Evidence[0] != "/proc/7/exe: /lib64/ld.so, called sleepd, which runs /memfd:runc_cloned:/proc/self/exe" {
		t.Errorf("%+v", f)
	}
}
