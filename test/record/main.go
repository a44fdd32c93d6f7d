// SPDX-License-Identifier: Apache-2.0

// Command record writes down what the programs of this Mac print, as transcripts
// that the tests can play. It runs the command lines of the Macs that are there already, and
// of these only what reads. Names, addresses and serial numbers are replaced.
//
//	go run ./test/record -out testdata/macs/my-mac
//
// Without root some programs refuse, which is worth a record of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/sysexec"
)

func main() {
	out := flag.String("out", "", "directory to write to; exec is created below it")
	from := flag.String("from", "testdata/macs", "directory of the Macs whose command lines are run")
	flag.Parse()
	if err := record(context.Background(), *from, *out); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, from, out string) error {
	switch {
	case runtime.GOOS != "darwin":
		return fmt.Errorf("this is %s; only a Mac can be recorded", runtime.GOOS)
	case out == "":
		return fmt.Errorf("name a directory with -out")
	}
	lines, err := commandLines(from)
	if err != nil {
		return err
	}
	dir := filepath.Join(out, "exec")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scrub, system := newScrubber(identity()), version(ctx)
	for _, argv := range lines {
		if err := one(ctx, argv, system, dir, scrub); err != nil {
			return err
		}
	}
	return nil
}

// commandLines collects the distinct command lines of all transcripts that only
// read.
func commandLines(from string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(from, "*", "exec", "*.txtar"))
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(txtar.Parse(raw).Comment)) {
			if argv, ok := strings.CutPrefix(strings.TrimSpace(line), "argv: "); ok && readsOnly(argv) {
				lines = append(lines, argv)
			}
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no command lines below %s", from)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// one runs a command line and writes its transcript. A program that is not there
// or does not end is a transcript, too.
func one(ctx context.Context, argv, system, dir string, scrub func([]byte) []byte) error {
	fields := strings.Fields(argv)
	result, err := sysexec.Host{}.Run(ctx, sysexec.Command{Path: fields[0], Args: fields[1:], Timeout: time.Minute})
	status := fmt.Sprintf("exit: %d", result.Exit)
	switch {
	case err != nil && ctx.Err() == nil && os.IsNotExist(err):
		status = "error: missing"
	case err != nil:
		status = "error: hang"
	}
	archive := txtar.Archive{
		Comment: fmt.Appendf(nil, "argv: %s\n%s\nprovenance: recorded on %s, %s\n", argv, status, system, time.Now().UTC().Format(time.DateOnly)),
		Files:   []txtar.File{{Name: "stdout", Data: scrub(result.Stdout)}, {Name: "stderr", Data: scrub(result.Stderr)}},
	}
	fmt.Println(status, argv)
	return os.WriteFile(filepath.Join(dir, fileName(argv)), txtar.Format(&archive), 0o644)
}

// fileName makes a name of a command line.
func fileName(argv string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, argv[strings.LastIndexByte(strings.Fields(argv)[0], '/')+1:])
	return name[:min(len(name), 100)] + ".txtar"
}

func version(ctx context.Context) string {
	r, err := sysexec.Host{}.Run(ctx, sysexec.Command{Path: "/usr/bin/sw_vers", Args: []string{"-productVersion"}, Timeout: time.Minute})
	if err != nil {
		return "macOS (" + runtime.GOARCH + ")"
	}
	return "macOS " + strings.TrimSpace(string(r.Stdout)) + " (" + runtime.GOARCH + ")"
}
