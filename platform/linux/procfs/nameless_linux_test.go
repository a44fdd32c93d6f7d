// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// mappingsOf are lines of a kernel; the files are of 41, 42 and 43.
const mappingsOf = `00400000-00401000 r-xp 00000000 fe:00 41                                 /opt/a b (deleted)
00401000-00402000 rw-p 00001000 fe:00 41                                 /opt/a b (deleted)
7f1c2a000000-7f1c2a021000 rw-p 00000000 00:00 0 
7f1c2a021000-7f1c2a022000 r--p 00000000 fe:00 42                         /usr/lib/libc.so.6
7f1c2a022000-7f1c2a023000 rw-s 00000000 00:01 43                         /memfd:x (deleted)
7f1c2a023000-7f1c2a024000 rw-s 00000000 00:01 44                         /dev/zero (deleted)
7f1c2a024000-7f1c2a025000 rw-s 00000000 00:01 45                         /SYSV00000000 (deleted)
7f1c2a025000-7f1c2a026000 rw-s 00000000 fe:01 41                         /tmp/new\012line (deleted)
7ffd0d5c2000-7ffd0d5e3000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

func TestMappingsOfDeletedFiles(t *testing.T) {
	if got, want := deletedAreas([]byte(mappingsOf)), []string{"400000-401000", "7f1c2a025000-7f1c2a026000"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, line := range []string{"", "\n", " (deleted)", "1-2 r 0 0:0 7 (deleted)", "1-2 r 0 0:0 7", "2-1 r 0 0:0 7 /x (deleted)", "1 r 0 0:0 7 /x (deleted)", "x-y r 0 0:0 7 /x (deleted)", "1-../2 r 0 0:0 7 /x (deleted)", "1-2 r 0 0:0 7 x (deleted)"} {
		if area, _, deleted := deletedMapping([]byte(line)); deleted {
			t.Errorf("%q is %q", line, area)
		}
	}
}

// A deleted program, and one that is mapped alone, is found with the process; what is only called so is not.
func TestFilesWithoutANameAreFound(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	program, err := os.ReadFile(testenv.Program(t, "sleep", "coreutils"))
	if err != nil {
		t.Fatal(err)
	}
	dir, started, found := t.TempDir(), map[int]string{}, map[int]bool{}
	for _, name := range []string{"gone", "called (deleted)"} {
		if err := os.WriteFile(dir+"/"+name, program, 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(dir+"/"+name, "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		started[c.Process.Pid] = name
	}
	if err := os.Remove(dir + "/gone"); err != nil {
		t.Fatal(err)
	}
	skipped, err := New("/").HeldFiles(t.Context(), func(OpenFile) bool { return true }, func(f NamelessFile) bool {
		if f.Path != dir+"/gone" || started[f.PID] != "gone" || f.Blocks*512 < uint64(len(program))/2 {
			t.Errorf("%+v", f)
		}
		found[f.PID] = true
		return true
	})
	if len(found) != 1 || len(skipped) != 0 || err != nil {
		t.Errorf("%v were found, %v, %v", found, skipped, err)
	}
}

// Of a process with very many mappings a part is read, and that is said; what was read counts for its user.
func TestMappingsAreBounded(t *testing.T) {
	line := "7f1c2a025000-7f1c2a026000 rw-s 00000000 fe:01 41 /x\n"
	fs := New(testenv.Plant(t, map[string]string{"proc/7/maps": strings.Repeat(line, maxMappings/len(line)+1), "proc/8/maps": strings.Repeat(line, 50)}))
	if found, err := fs.namelessOf(7); !errors.Is(err, ErrManyFiles) || found.cost < maxMappings/len(line)/mappingsPerFile {
		t.Errorf("%+v, %v", found, err)
	}
	r := reader(t, fs)
	none := func(NamelessFile) bool { t.Error("there is none"); return false }
	if err := r.nameless(candidate{pid: 8, uid: 1000}, none); err != nil || r.read[1000] < 50/mappingsPerFile {
		t.Errorf("%d files, %v", r.read[1000], err)
	}
	r.read[1000] = userFiles
	if err := r.nameless(candidate{pid: 8, uid: 1000}, none); !errors.Is(err, ErrManyFiles) {
		t.Error(err)
	}
	if err := r.nameless(candidate{pid: 9, uid: 1001}, none); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fs.HeldFiles(ctx, func(OpenFile) bool { return true }, none); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzMappings(f *testing.F) {
	f.Add([]byte(mappingsOf))
	f.Add([]byte("1-2 r 0 0:0 7 /x (deleted)"))
	area := regexp.MustCompile(`^[0-9a-f]{1,16}-[0-9a-f]{1,16}$`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range deletedAreas(raw) {
			if !area.MatchString(name) {
				t.Errorf("%q", name)
			}
		}
	})
}
