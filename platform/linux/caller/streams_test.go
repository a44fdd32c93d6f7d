// SPDX-License-Identifier: Apache-2.0

//go:build linux

package caller

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// running makes the test binary a run with the standard streams that it has. It starts a program, and answers
// which files it has itself, and what it has read.
const running = "SENTINEL_TEST_STREAMS"

// more is how many bytes it answers besides.
const more = "SENTINEL_TEST_STREAMS_MORE"

func TestMain(m *testing.M) {
	if os.Getenv(running) == "" {
		os.Exit(m.Run())
	}
	unix.Read(3, make([]byte, 1)) // until it is known
	flush, err := Streams()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
	started := exec.Command("/bin/true").Run()
	asked, err := io.ReadAll(os.Stdin)
	fmt.Fprintf(os.Stdout, "answer to %q, %v %v\n", asked, err, started)
	if size, err := strconv.Atoi(os.Getenv(more)); err == nil { // beyond what a pipe holds
		os.Stdout.Write(make([]byte, size))
		os.Stdout.Write([]byte("the end"))
	}
	fmt.Fprint(os.Stderr, "and of what is here:")
	for number := range 3 {
		var stat unix.Stat_t
		unix.Fstat(number, &stat)
		fmt.Fprintf(os.Stderr, " %v", stat.Mode&unix.S_IFMT == unix.S_IFREG)
	}
	if flush() != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

// run starts one, lets it begin once begun is called with its PID, and returns its status.
func run(t *testing.T, stdin io.Reader, stdout, stderr io.Writer, begun func(pid int)) (status int) {
	t.Helper()
	testenv.HangGuard(t)
	waits, goes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env, c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles = append(os.Environ(), running+"=1"), stdin, stdout, stderr, []*os.File{waits}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	begun(c.Process.Pid)
	goes.Close()
	c.Wait()
	return c.ProcessState.ExitCode()
}

// What it answers to "what?".
const (
	answer = "answer to \"what?\", <nil> <nil>\n"
	of     = "and of what is here: false false false"
)

func TestFilesOfTheCallerAreHandedOn(t *testing.T) {
	dir := t.TempDir()
	question := filepath.Join(dir, "question")
	if err := os.WriteFile(question, []byte("what?"), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(question)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	out, errs, both := create("out"), create("errs"), create("both")
	var pipe, other bytes.Buffer
	for name, c := range map[string]struct {
		stdin          io.Reader
		stdout, stderr io.Writer
		says           func() string
	}{
		"files":    {in, out, errs, func() string { return content(t, out) + content(t, errs) }},
		"one file": {strings.NewReader("what?"), both, both, func() string { return content(t, both) }},
		"pipes":    {strings.NewReader("what?"), &pipe, &other, func() string { return pipe.String() + other.String() }},
	} {
		if status := run(t, c.stdin, c.stdout, c.stderr, func(int) {}); status != 0 || c.says() != answer+of {
			t.Errorf("%s: %d %q", name, status, c.says())
		}
	}
}

// A shell whose loop reads the same file goes on where it was.
func TestTheCallersPlaceInAFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(path, []byte("one\nwhat?"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	list.Seek(4, io.SeekStart)
	var out bytes.Buffer
	status := run(t, list, &out, io.Discard, func(int) {})
	if at, err := list.Seek(0, io.SeekCurrent); status != 0 || err != nil || at != 4 || !strings.HasPrefix(out.String(), `answer to "what?",`) {
		t.Errorf("%d, at %d, %v: %q", status, at, err, out.String())
	}
}

func content(t *testing.T, f *os.File) string {
	t.Helper()
	raw, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAnAnswerThatDoesNotArriveIsNoSuccess(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("small", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	if err := os.WriteFile(filepath.Join(dir, "all"), make([]byte, 4<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, size := range []string{"", "1000000"} {
		t.Setenv(more, size)
		if status := run(t, strings.NewReader(""), out, io.Discard, func(int) {}); status != 3 {
			t.Errorf("%q: it ended with %d", size, status)
		}
	}
}

// Who answers for a file that a run has inherited hears of nothing that the run starts, and cannot hold it up.
func TestWhatIsStartedHasNoFileOfTheCaller(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	served := func(uid int) *deadfuse.Inherited { return deadfuse.NewInherited(t, uid) }
	both := served(0)
	for name, c := range map[string]struct {
		out, errs *deadfuse.Inherited
		want      []string
	}{
		"of root":   {served(0), served(0), []string{answer, of}},
		"2>&1":      {both, both, []string{answer + of, answer + of}},
		"of a user": {served(testenv.Nobody), served(testenv.Nobody), []string{answer, of}}, // fstat(2) is refused
	} {
		status := run(t, strings.NewReader("what?"), c.out.File, c.errs.File, func(pid int) { c.out.By(pid); c.errs.By(pid) })
		others := c.out.Others() + c.errs.Others()
		if got := []string{c.out.Written(), c.errs.Written()}; status != 0 || others != 0 || !slices.Equal(got, c.want) {
			t.Errorf("%s: it ended with %d, and others closed a file %d times: %q", name, status, others, got)
		}
	}
}
