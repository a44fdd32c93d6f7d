// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"sentinel/internal/host"
	"sentinel/internal/host/mac"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
)

// macNow is the moment at which all Macs of the tests are looked at.
var macNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// scriptedMac is a Mac made of transcripts and files. A script describes it in its
// environment:
//
//	MAC      folders below $MACS, or absolute ones, with colons between; a later one
//	         overrides the programs of an earlier one
//	MAC_ROOT the tree of its files; without it the folder root of the first of MAC
//	FAIL     programs that fail and how, such as "/usr/sbin/lsof=hang,/sbin/pfctl=missing"
//
// Commands without a transcript are appended to $WORK/unexpected, and signals to
// $WORK/signals. Nothing of this machine is read or changed.
func scriptedMac(work string) (*host.Host, error) {
	var folders []string
	for name := range strings.SplitSeq(os.Getenv("MAC"), ":") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(os.Getenv("MACS"), name)
		}
		folders = append(folders, name)
	}
	root := os.Getenv("MAC_ROOT")
	if root == "" {
		root = filepath.Join(folders[0], "root")
	}
	for i := range folders {
		folders[i] = filepath.Join(folders[i], "exec")
	}
	machine, err := replay.OpenMachine(folders...)
	if err != nil {
		return nil, err
	}
	machine.Unknown = func(argv string) { note(filepath.Join(work, "unexpected"), argv) }
	return mac.Open(mac.System{
		Root: root, Live: true, Runner: brokenMac{machine, failures()}, EUID: uid(), PID: os.Getpid(), Own: "/usr/local/bin/sentinel",
		Now: func() time.Time { return macNow },
		Kill: func(pid int, signal syscall.Signal) error {
			note(filepath.Join(work, "signals"), fmt.Sprintf("%d %d", pid, signal))
			if os.Getenv("KILL_DENIED") != "" {
				return syscall.EPERM
			}
			return nil
		},
	}), nil
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

func failures() map[string]string {
	how := map[string]string{}
	for one := range strings.SplitSeq(os.Getenv("FAIL"), ",") {
		program, failure, _ := strings.Cut(one, "=")
		how[program] = failure
	}
	return how
}

// A brokenMac makes some programs of a machine fail.
type brokenMac struct {
	sysexec.Runner
	how map[string]string
}

// Run implements [sysexec.Runner].
func (f brokenMac) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	switch f.how[c.Path] {
	case "":
		return f.Runner.Run(ctx, c)
	case "missing":
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
	case "hang":
		limited, cancel := context.WithTimeout(ctx, min(c.Timeout, time.Second))
		defer cancel()
		<-limited.Done()
		return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, context.DeadlineExceeded)
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
	default:
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
	for _, d := range []detail{brief, strict} {
		if err := conforms(schemaOf(op, d), raw); err != nil {
			ts.Fatalf("%v\n%s", err, raw)
		}
	}
	got := scrubbed(ts, raw)
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
	"timestamp": true, "hostname": true, "version": true, "agent_id": true, "took_ms": true, "window_ms": true, "cpu_percent": true, "scan_time_ms": true, "last_checked": true,
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

func scrub(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = scrub(v[i])
		}
	case map[string]any:
		for name := range v {
			if volatile[name] {
				v[name] = "(volatile)"
			} else {
				v[name] = scrub(v[name])
			}
		}
	}
	return value
}
