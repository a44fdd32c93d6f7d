// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"sentinel/internal/host"
	"sentinel/internal/host/mac"
	"sentinel/internal/ops"
	"sentinel/internal/schema"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
)

// macNow is the moment at which all Macs of the tests are looked at.
var macNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// macPID is this program among the processes of the transcripts.
const macPID = 2002

// macOwn is where it is installed.
const macOwn = "/usr/local/bin/sentinel"

// A testMac is a Mac made of transcripts and files. Nothing of this machine is
// read or changed.
type testMac struct {
	dirs   []string          // with its transcripts and files; a later one overrides programs of an earlier one
	work   string            // directory for all that is written, its tree of files among them
	fails  map[string]string // programs that fail, and how
	root   bool
	denied bool              // nobody may signal a process
	gentle bool              // processes end when they are asked to
	ran    func(argv string) // is told of each command line that is run; may be nil
}

// scriptedMac is the Mac that a script describes in its environment:
//
//	MAC      directories below $MACS, or absolute ones, with colons between
//	FAIL     programs that fail and how, such as "/usr/sbin/lsof=hang,/sbin/pfctl=missing"
//
// Its files are below $WORK/mac, where a script may change them. Commands without a transcript are
// appended to $WORK/unexpected, and signals to $WORK/signals.
func scriptedMac(work string) (*host.Host, error) {
	m := testMac{work: work, fails: map[string]string{}, root: uid() == 0, denied: os.Getenv("KILL_DENIED") != "", gentle: os.Getenv("GENTLE") != ""}
	for name := range strings.SplitSeq(os.Getenv("MAC"), ":") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(os.Getenv("MACS"), name)
		}
		m.dirs = append(m.dirs, name)
	}
	for one := range strings.SplitSeq(os.Getenv("FAIL"), ",") {
		program, failure, _ := strings.Cut(one, "=")
		m.fails[program] = failure
	}
	return m.open()
}

func (m testMac) open() (*host.Host, error) {
	root := filepath.Join(m.work, "mac", filepath.Base(m.dirs[0]))
	if err := layOut(m.dirs[0], root); err != nil {
		return nil, err
	}
	machine, err := m.record()
	if err != nil {
		return nil, err
	}
	if err := provide(machine.Programs(), root); err != nil {
		return nil, err
	}
	machine.Unknown = func(argv string) { note(filepath.Join(m.work, "unexpected"), argv) }
	euid := 501 // the first that a Mac has
	if m.root {
		euid = 0
	}
	return mac.Open(mac.System{
		Root: root, Live: true, Runner: brokenMac{changingMac{machine, filepath.Join(m.work, "firewalls.json"), m.root}, m},
		EUID: euid, PID: macPID, Own: macOwn, Owner: os.Geteuid(), StateDir: filepath.Join(m.work, "state"), Getenv: os.Getenv, Now: clock(),
		Kill: (&killer{testMac: m}).kill,
	}), nil
}

// recordings are the machines of directories, each read once for all runs.
var recordings sync.Map

func (m testMac) record() (*replay.Machine, error) {
	var execs []string
	for _, directory := range m.dirs {
		execs = append(execs, filepath.Join(directory, "exec"))
	}
	first, found := recordings.Load(execs[0])
	if !found {
		machine, err := replay.OpenMachine(execs[0])
		if err != nil {
			return nil, err
		}
		first, _ = recordings.LoadOrStore(execs[0], machine)
	}
	return first.(*replay.Machine).With(execs[1:]...)
}

// clock goes on from macNow: usage of the CPU is measured between two looks.
func clock() func() time.Time {
	began := time.Now()
	return func() time.Time { return macNow.Add(time.Since(began)) }
}

// A killer keeps account of signals.
type killer struct {
	testMac
	gone map[int]bool
}

func (k *killer) kill(pid int, signal syscall.Signal) error {
	switch {
	case k.gone[pid]:
		return syscall.ESRCH
	case k.denied:
		return syscall.EPERM
	case signal == 0:
		return nil
	}
	note(filepath.Join(k.work, "signals"), fmt.Sprintf("%d %d", pid, signal))
	if signal == syscall.SIGKILL || k.gentle {
		k.gone = map[int]bool{pid: true}
	}
	return nil
}

// layOut copies the tree of files of a Mac, because what is checked out has the
// modes and days of whoever did; its list "modes" has what matters of them. A tree that is there
// is left as it is.
func layOut(directory, root string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	from := filepath.Join(directory, "root")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(root, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return errors.Join(os.MkdirAll(to, 0o755), os.Chmod(to, 0o755))
		}
		raw, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(to, raw, 0o644), os.Chmod(to, 0o644))
	})
	for _, name := range []string{"etc", "var", "tmp"} { // links on every Mac
		private := filepath.Join("private", name)
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, private), 0o755), os.Symlink(private, filepath.Join(root, name)))
	}
	list, readErr := os.ReadFile(filepath.Join(directory, "modes"))
	if err = errors.Join(err, readErr); err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		if err := arrange(root, strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

// provide puts an empty file where each program is.
func provide(programs []string, root string) error {
	var err error
	for _, program := range append(programs, "/usr/bin/sudo") { // it is there, and nobody plays it
		path := filepath.Join(root, program)
		if _, statErr := os.Stat(path); statErr == nil {
			continue
		}
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755))
	}
	return err
}

// arrange follows a line such as "0700 Users/ana" or "dated 2026-10-20 Library".
func arrange(root, line string) error {
	what, rest, _ := strings.Cut(line, " ")
	if what == "dated" {
		text, path, _ := strings.Cut(rest, " ")
		day, err := time.Parse(time.DateOnly, text)
		return errors.Join(err, os.Chtimes(filepath.Join(root, path), day, day))
	}
	if what == "#" || what == "" {
		return nil
	}
	mode, err := strconv.ParseUint(what, 8, 12)
	return errors.Join(err, os.Chmod(filepath.Join(root, rest), fs.FileMode(mode)))
}

// note appends a line to a file.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, line); err != nil {
		panic(err)
	}
}

// A brokenMac makes some programs of a machine fail.
type brokenMac struct {
	sysexec.Runner
	testMac
}

// Run implements [sysexec.Runner].
func (f brokenMac) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if f.ran != nil {
		f.ran(strings.Join(append([]string{c.Path}, c.Args...), " "))
	}
	if last := len(c.Args) - 1; last >= 0 && c.Args[last] == strconv.Itoa(os.Getpid()) { // the journal asks who it is
		c.Args = append(slices.Clone(c.Args[:last]), strconv.Itoa(macPID))
	}
	switch f.fails[c.Path] {
	case "":
		return f.Runner.Run(ctx, c)
	case "managed":
		if !changesFirewall(c.Args) {
			return f.Runner.Run(ctx, c)
		}
		return sysexec.Result{Stdout: []byte("Firewall settings cannot be modified from command line on managed Mac computers.\n")}, nil
	case "missing":
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
	case "hang":
		limited, cancel := context.WithTimeout(ctx, min(c.Timeout, 50*time.Millisecond)) // nobody waits for the whole of it
		defer cancel()
		<-limited.Done()
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, context.DeadlineExceeded)
	case "other":
		return sysexec.Result{Stdout: []byte("Das ist nicht erlaubt.\n")}, nil
	case "empty":
		return sysexec.Result{}, nil
	case "cut":
		r, err := f.Runner.Run(ctx, c)
		r.Stdout, r.Stderr = r.Stdout[:len(r.Stdout)*2/3], nil
		return r, err
	case "noise":
		r, err := f.Runner.Run(ctx, c)
		r.Stderr = append([]byte("2026-11-20 12:00:00.000 tool[123:456] hw.cpufamily: 0x1\n"), r.Stderr...)
		return r, err
	default: // refused, in another language
		return sysexec.Result{Stderr: []byte("Das ist nicht erlaubt.\n"), Exit: 1}, nil
	}
}

// goldenDocument runs "golden TOOL FILE": stdout of the last command is a document of that
// tool, matches its schemas, and is, without what changes from run to run, the golden
// document testdata/mac/FILE.
func goldenDocument(ts *testscript.TestScript, _ bool, args []string) {
	raw := []byte(ts.ReadFile("stdout"))
	op, ok := ops.ByName(args[0])
	if !ok {
		ts.Fatalf("no tool %s", args[0])
	}
	for _, d := range []schema.Form{schema.Brief, schema.Strict} {
		if err := conforms(schemaOf(op, d), raw); err != nil {
			ts.Fatalf("%v\n%s", err, raw)
		}
	}
	got := bytes.ReplaceAll(scrubbed(ts, raw), []byte(ts.Getenv("WORK")), []byte("$WORK"))
	got = bytes.ReplaceAll(got, fmt.Appendf(nil, " of user %d", os.Geteuid()), []byte(" of user 0")) // the files are whose run this is
	file := filepath.Join(ts.Getenv("GOLDEN"), args[1])
	if ts.Getenv("UPDATE") != "" {
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		ts.Check(os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	ts.Check(err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		ts.Fatalf("%s differs (-want +got), make golden rewrites it:\n%s", args[1], diff)
	}
}

// volatile are the members that differ from run to run.
var volatile = map[string]bool{
	"timestamp": true, "uptime": true, "agent_id": true, "agent_uuid": true, "last_updated": true, "journal_seq": true, "exited_after_ms": true, "uptime_seconds": true, "time_ms": true, "file_changed": true,
	"bytes_sent_per_second": true, "bytes_recv_per_second": true, "time": true, "ended_at": true, "blocked_at": true, "generated_at": true, "list_age_seconds": true, "age_seconds": true, "took_ms": true, "modified": true, "window_ms": true, "cpu_percent": true, "scan_time_ms": true, "last_checked": true,
}

// scrubbed is the document in lines, with a word in place of what is volatile.
func scrubbed(ts *testscript.TestScript, raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var document any
	ts.Check(d.Decode(&document))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	ts.Check(e.Encode(scrub(document)))
	return out.Bytes()
}

// scrub replaces in a whole document what is volatile; hostname and version are so
// at its top alone, where they are those of this machine and of sentinel.
func scrub(document any) any {
	if top, ok := document.(map[string]any); ok {
		top["hostname"], top["version"] = "(volatile)", "(volatile)"
	}
	return scrubValue(document)
}

func scrubValue(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = scrubValue(v[i])
		}
	case map[string]any:
		for name := range v {
			if volatile[name] {
				v[name] = "(volatile)"
			} else {
				v[name] = scrubValue(v[name])
			}
		}
	}
	return value
}

// expectedOf runs "expected COMMAND...": every command line that had no transcript
// since the last time begins with one of these.
func expectedOf(ts *testscript.TestScript, _ bool, args []string) {
	raw, err := os.ReadFile(filepath.Join(ts.Getenv("WORK"), "unexpected"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	ts.Check(err)
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if !slices.ContainsFunc(args, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			ts.Fatalf("no transcript for %q", line)
		}
	}
	ts.Check(os.Remove(filepath.Join(ts.Getenv("WORK"), "unexpected")))
}

// findingOf runs "finding ID STATUS": the last --doctor found that.
func findingOf(ts *testscript.TestScript, _ bool, args []string) {
	var d doctorDocument
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &d))
	for _, c := range d.Checks {
		if c.ID == args[0] {
			if c.Status != args[1] {
				ts.Fatalf("%+v, want %s", c, args[1])
			}
			return
		}
	}
	ts.Fatalf("no finding %s", args[0])
}

// transcript runs "transcript DIR ARGV STATUS [FILE]": in that directory of a Mac
// stands a transcript, with stdout from a file. A status that is no number is an error.
func transcript(ts *testscript.TestScript, _ bool, args []string) {
	status := "error: " + args[2]
	if _, err := strconv.Atoi(args[2]); err == nil {
		status = "exit: " + args[2]
	}
	text := "argv: " + args[1] + "\n" + status + "\n-- stdout --\n"
	if len(args) > 3 {
		text += ts.ReadFile(args[3])
	}
	directory := ts.MkAbs(filepath.Join(args[0], "exec"))
	ts.Check(os.MkdirAll(directory, 0o755))
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' {
			return '_'
		}
		return r
	}, args[1])
	ts.Check(os.WriteFile(filepath.Join(directory, name+".txtar"), []byte(text), 0o600))
}
