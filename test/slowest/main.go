// SPDX-License-Identifier: Apache-2.0

// Command slowest prints which tests of a run took longest, and why they may.
//
// It reads the events of "go test -json" (go doc test2json) from the files in the
// directory that its argument names, and the reasons from reasons.txt.
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// rows is how many tests are printed, and least how many seconds one of them
// takes at least.
const (
	rows  = 25
	least = 8
)

// reasons has one test a line: its package without the module's name, its name,
// and why it takes long.
//
//go:embed reasons.txt
var reasons string

// An event is one line of test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // seconds
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: go run ./test/slowest DIRECTORY")
	}
	files, err := filepath.Glob(filepath.Join(args[0], "*.json"))
	if err != nil {
		return err
	}
	var ended []event
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		found, err := slow(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		ended = append(ended, found...)
	}
	return report(out, ended, parseReasons(reasons))
}

// slow returns the tests that ended and took long, without their subtests.
func slow(in io.Reader) ([]event, error) {
	var found []event
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if (e.Action == "pass" || e.Action == "fail") && e.Test != "" && !strings.Contains(e.Test, "/") && e.Elapsed >= least {
			e.Package = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(e.Package, "sentinel"), "/"), ".")
			found = append(found, e)
		}
	}
	return found, lines.Err()
}

// parseReasons returns the reasons by package and test, joined by a blank.
func parseReasons(text string) map[string]string {
	why := map[string]string{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) == 3 {
			why[fields[0]+" "+fields[1]] = fields[2]
		}
	}
	return why
}

func report(out io.Writer, ended []event, why map[string]string) error {
	slices.SortFunc(ended, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "The tests that took longest, of %d that took %d s or more:\n", len(ended), least)
	for _, e := range ended[:min(len(ended), rows)] {
		reason := cmp.Or(why[e.Package+" "+e.Test], "no reason is written down in test/slowest/reasons.txt")
		fmt.Fprintf(w, "%.0f s\t%s\t%s\t%s\n", e.Elapsed, e.Package, e.Test, reason)
	}
	return w.Flush()
}
