// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
)

const (
	mapsOfSleep = "5617a6a4c000-5617a6a4e000 r--p 00000000 fe:00 2490                       /usr/bin/sleep\n" +
		"5617a6a4e000-5617a6a52000 r-xp 00002000 fe:00 2490                       /usr/bin/sleep\n"
	mapsOfMemory = "00aa9000-00acb000 rw-p 00000000 00:00 0                                  [heap]\n" +
		"7fdc36c21000-7fdc36c22000 rwxp 00000000 00:00 0 \n" +
		"7ffe807fd000-7ffe8081e000 rw-p 00000000 00:00 0                          [stack]\n"
	mapsOfAll = "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n"
)

func TestWhatAProgramMapsOfItsFile(t *testing.T) {
	for what, c := range map[string]struct {
		maps, file string
		want       bool
		err        error
	}{
		"its code":                               {mapsOfSleep + mapsOfMemory + mapsOfAll, "/usr/bin/sleep", false, nil},
		"another file":                           {mapsOfSleep + mapsOfMemory + mapsOfAll, "/usr/bin/sleepy", true, nil},
		"another file, removed":                  {mapsOfSleep, "/usr/bin/sleep (deleted)", true, nil},
		"memory alone":                           {mapsOfMemory + mapsOfAll, "/usr/bin/sleep", true, nil},
		"its data, as of a packed file":          {"7f0000000000-7f0000001000 r--p 00000000 fe:00 7    /opt/packed\n" + mapsOfMemory, "/opt/packed", false, nil},
		"nothing that could run":                 {"7ffe807fd000-7ffe8081e000 rw-p 00000000 00:00 0    [stack]\n" + mapsOfAll, "/usr/bin/sleep", false, nil},
		"nothing":                                {"", "/usr/bin/sleep", false, nil},
		"memory that is called so":               {"7f0000000000-7f0000001000 rwxp 00000000 00:00 0    [anon:/usr/bin/sleep]\n", "/usr/bin/sleep", true, nil},
		"blanks and a line end":                  {"400000-401000 r-xp 00000000 fe:00 7    /opt/a b\\012c\n", "/opt/a b\nc", false, nil},
		"after a line that is very long":         {"300000-301000 r-xp 00000000 fe:00 7    /" + strings.Repeat("d/", 2*mapsBuffer) + "\n" + mapsOfSleep, "/usr/bin/sleep", false, nil},
		"one of a path that is too long":         {"300000-301000 r-xp 00000000 fe:00 7    /" + strings.Repeat("d/", 2048) + "\n", TooLong, false, nil},
		"one that was removed, and is very long": {"300000-301000 r-xp 00000000 fe:00 7    /" + strings.Repeat("d/", 2*mapsBuffer) + "\n", TooLong + " (deleted)", false, nil},
		"none of a path that is too long":        {"300000-301000 r-xp 00000000 fe:00 7    /" + strings.Repeat("d", 4094) + "\n", TooLong, true, nil},
		"more than is looked at":                 {strings.Repeat(mapsOfMemory, maxMaps/len(mapsOfMemory)+1) + mapsOfSleep, "/usr/bin/sleep", false, errManyMappings},
	} {
		if got, err := lacks(strings.NewReader(c.maps), c.file); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %t, %v", what, got, err)
		}
	}
}

// What a loader maps is private; what compilers write into is shared with where they write it.
func TestWhatCodeIsLoaded(t *testing.T) {
	odd := func(file string) bool { return strings.HasPrefix(file, "/memfd:") || strings.HasPrefix(file, "/tmp/") }
	const memory = "7f0000000000-7f0000001000 %s 00000000 00:01 7    /memfd:x y (deleted)\n"
	for what, c := range map[string]struct {
		maps, want string
		err        error
	}{
		"of the system":          {mapsOfSleep + mapsOfMemory + mapsOfAll, "", nil},
		"in memory":              {mapsOfSleep + fmt.Sprintf(memory, "r-xp"), "/memfd:x y (deleted)", nil},
		"that can be written":    {fmt.Sprintf(memory, "rwxp") + mapsOfSleep, "/memfd:x y (deleted)", nil},
		"that is shared":         {fmt.Sprintf(memory, "r-xs") + mapsOfSleep, "", nil},
		"data":                   {fmt.Sprintf(memory, "r--p") + mapsOfSleep, "", nil},
		"with a line end":        {"400000-401000 r-xp 00000000 fe:00 7    /tmp/a\\012b\n", "/tmp/a\nb", nil},
		"with a very long path":  {"400000-401000 r-xp 00000000 fe:00 7    /tmp/" + strings.Repeat("d/", mapsBuffer) + "\n", "/tmp/" + strings.Repeat("d/", mapsBuffer)[:mapsBuffer-len("400000-401000 r-xp 00000000 fe:00 7    /tmp/")], nil},
		"that a path looks like": {"400000-401000 r-xp 00000000 fe:00 7    /" + strings.Repeat("d", mapsBuffer) + " r-xp 0 0 0 /tmp/x\n", "", nil},
		"beyond what is read":    {strings.Repeat(mapsOfMemory, maxMaps/len(mapsOfMemory)+1) + fmt.Sprintf(memory, "r-xp"), "", errManyMappings},
	} {
		if got, err := loads(strings.NewReader(c.maps), odd); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %.80q, %v", what, got, err)
		}
	}
}

func FuzzMaps(f *testing.F) {
	for _, maps := range []string{mapsOfSleep, mapsOfMemory, mapsOfAll, "x", "400000-401000 r-x"} {
		f.Add(maps, "/usr/bin/sleep")
	}
	f.Fuzz(func(t *testing.T, maps, file string) {
		none, err := lacks(strings.NewReader(maps), file)
		if err != nil && len(maps) < maxMaps {
			t.Error(err)
		}
		if none && !strings.Contains(maps, "x") {
			t.Error("code where nothing runs")
		}
		if file != "" && !strings.HasPrefix(file, " ") && len(file) < unix.PathMax {
			line := "400000-401000 r-xp 00000000 fe:00 7    " + strings.ReplaceAll(file, "\n", `\012`) + "\n"
			if lacking, err := lacks(strings.NewReader(line), file); lacking || err != nil {
				t.Errorf("its own line: %t, %v", lacking, err)
			}
		}
	})
}

// What a user has the kernel show in the place of a program is not what runs: in the user namespace of the system, where
// another process may have had the kernel do so, and in one of their own.
func TestAProgramThatIsNotInItsProcessIsNone(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755"); err != nil {
		t.Fatal(err)
	}
	setpriv, unshare := testenv.Program(t, "setpriv", "util-linux"), testenv.Program(t, "unshare", "util-linux")
	asUser := []string{setpriv, "--reuid", "1500", "--regid", "1500", "--clear-groups"}
	own := append(asUser, unshare, "--user", "--map-root-user")
	for what, before := range map[string][]string{"of the system's users": nil, "of users of its own": own} {
		t.Run(what, func(t *testing.T) {
			p := testenv.Imposter(t, "/mnt/x", 1500, "/bin/sleep", before...)
			if got, err := New("/").Program(p.Pid, 0); err != nil || !got.Unmapped || got.System || got.Name() != "sleep" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for what, argv := range map[string][]string{
		"root's":              {"/bin/sleep", "600"},
		"a user's":            append(asUser, "/bin/sleep", "600"),
		"of users of its own": append(own, "/bin/sleep", "600"),
	} {
		t.Run("what runs, "+what, func(t *testing.T) {
			pid := started(t, argv[0], argv[1:]...)
			testenv.WaitFor(t, "the program", func() bool {
				got, err := New("/").Program(pid, 0)
				return err == nil && got.Name() == "sleep" && got.System && !got.Unmapped
			})
		})
	}
}

// While a program begins, it is shown before its memory is there.
func TestAProgramThatBeginsIsInItsProcess(t *testing.T) {
	testenv.HangGuard(t)
	c := exec.Command("/bin/sh", "-c", `n=0; while [ $n -lt 400 ]; do /bin/true; n=$((n+1)); done; exec /bin/true`)
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: testenv.Nobody, Gid: testenv.Nobody}}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- c.Wait() }()
	proc := New("/")
	for looks := 0; ; looks++ {
		select {
		case err := <-ended:
			if err != nil || looks == 0 {
				t.Errorf("%v after %d looks", err, looks)
			}
			return
		default:
		}
		for _, pid := range append(childrenOf(c.Process.Pid), c.Process.Pid) {
			if unmapped, err := proc.Unmapped(pid); unmapped || err != nil && !Ended(err) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errProgramChanges) {
				t.Errorf("look %d: %t, %v", looks, unmapped, err)
			}
		}
	}
}

func childrenOf(pid int) (list []int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for field := range strings.FieldsSeq(string(raw)) {
		if n, ok := number([]byte(field)); ok {
			list = append(list, int(n))
		}
	}
	return list
}

// What is mapped is that of the program which is shown before and after.
func TestAProgramIsComparedWithWhatIsMapped(t *testing.T) {
	for maps, want := range map[string]bool{mapsOfMemory: true, mapsOfSleep: false} {
		f := New(testenv.Plant(t, map[string]string{"proc/7/maps": maps}))
		if err := os.Symlink("/usr/bin/sleep", f.name("7", "exe")); err != nil {
			t.Fatal(err)
		}
		if got, err := f.unmapped(7); got != want || err != nil {
			t.Errorf("%t, %v, want %t", got, err, want)
		}
	}
}
