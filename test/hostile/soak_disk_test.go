// SPDX-License-Identifier: Apache-2.0

//go:build linux && soak

package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// The tree of millions: files with two names, more than are told apart (treesize, maxLinks), and names of one
// file, which take the least memory to make.
const (
	paired  = 1_200_000 // names, two of each file, in directories of their own
	alike   = 2_600_000 // names of one file
	inEach  = 2_000     // names in a directory
	entries = 2*paired + alike + (2*paired+alike)/inEach + 2
)

const (
	maxDiskPeak = 128 << 20 // bytes of resident memory
	diskTime    = 25 * time.Second
)

// Five million names are added up within the bounds of memory, and where the time does not do, what was
// looked at is told, and that it is not all.
func TestMillionsOfFilesStayWithinTheBounds(t *testing.T) {
	if !isolated(t) {
		return
	}
	testenv.Need(t, available(t) > 8<<30, "8 GB of memory for five million names")
	if err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755,nr_inodes=0"); err != nil {
		t.Fatal(err)
	}
	plantMillions(t)

	whole := diskUsage(t, func(*exec.Cmd) {})
	switch n := whole["entries"].(float64); {
	case whole["complete"] == true && n == entries:
	case whole["complete"] == false && n < entries && endedByTime(whole):
		t.Logf("%.0f of %d names were looked at in time", n, entries)
	default:
		t.Errorf("%.0f entries of %d, complete %v: %v", n, entries, whole["complete"], whole["unavailable"])
	}

	part := diskUsage(t, slow)
	if n := part["entries"].(float64); part["complete"] != false || n < 1_000 || n >= entries || !endedByTime(part) || part["other_bytes"] != nil {
		t.Errorf("%.0f entries, complete %v: %v", n, part["complete"], part["unavailable"])
	}
}

func endedByTime(d assistant.Document) bool {
	said := fmt.Sprint(d["unavailable"])
	return strings.Contains(said, "the time for it was over, with ") && strings.Contains(said, " directories known of and not read")
}

// plantMillions makes the tree below /mnt.
func plantMillions(t *testing.T) {
	t.Helper()
	one := filepath.Join("/mnt", "one")
	if err := os.WriteFile(one, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range alike {
		link(t, one, name("alike", i))
	}
	for i := range paired {
		first := name("first", i)
		fd, err := unix.Open(first, unix.O_CREAT|unix.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
	for i := range paired { // after all others, so that few files have been seen by all their names at any time
		link(t, fmt.Sprintf("/mnt/first-%d/%d", i/inEach, i%inEach), name("second", i))
	}
}

// name is that of a file, in a directory that is made with the first of its files.
func name(kind string, i int) string {
	dir := fmt.Sprintf("/mnt/%s-%d", kind, i/inEach)
	if i%inEach == 0 {
		_ = unix.Mkdir(dir, 0o755)
	}
	return fmt.Sprintf("%s/%d", dir, i%inEach)
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := unix.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

// diskUsage runs sentinel while something is done to it, and holds it to the bound of memory.
func diskUsage(t *testing.T, during func(*exec.Cmd)) assistant.Document {
	t.Helper()
	cmd := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "sentinel"), "--disk-usage", "/mnt", "--json")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		during(cmd)
	}()
	err := cmd.Wait()
	<-done
	var d assistant.Document
	if bad := json.Unmarshal(out.Bytes(), &d); bad != nil || err != nil || d["success"] != true {
		t.Fatalf("%v, %v: %s", err, bad, out.Bytes())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if peak := usage.Maxrss << 10; !ok || peak > maxDiskPeak {
		t.Errorf("the peak of resident memory is %d bytes", peak)
	} else {
		t.Logf("%.0f entries, peak of resident memory %d MB, %v of CPU", d["entries"], peak>>20, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return d
}

// slow lets a program run a tenth of the time that a walk has.
func slow(cmd *exec.Cmd) {
	for end := time.After(diskTime); ; {
		select {
		case <-end:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if cmd.Process.Signal(syscall.SIGSTOP) != nil {
			return
		}
		<-time.After(90 * time.Millisecond)
		if cmd.Process.Signal(syscall.SIGCONT) != nil {
			return
		}
	}
}

// available is the memory that programs may take, in bytes.
func available(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "MemAvailable:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
