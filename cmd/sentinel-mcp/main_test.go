// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sentinel-mcp": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"biglines": bigLines},
	})
}

// bigLines writes big.txt: a line of so many MiB and a request behind it.
func bigLines(ts *testscript.TestScript, _ bool, args []string) {
	var size int
	_, err := fmt.Sscan(args[0], &size)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs("big.txt"))
	ts.Check(err)
	w := bufio.NewWriter(f)
	for range size {
		_, err = w.WriteString(strings.Repeat("x", 1<<20))
		ts.Check(err)
	}
	_, err = w.WriteString("\n" + `{"jsonrpc":"2.0","id":"after","method":"ping"}` + "\n")
	ts.Check(err)
	ts.Check(w.Flush())
	ts.Check(f.Close())
}

// fake writes a sentinel that is the given shell script and returns its path.
func fake(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sentinel")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const callLine = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_top_processes","arguments":{}}}`

// TestSpecificationCallIsAnsweredEveryTime is the specification's own test: a
// call piped in, after which the input ends at once.
func TestSpecificationCallIsAnsweredEveryTime(t *testing.T) {
	path := fake(t, `echo '{"success":true,"action":"top_processes"}'`)
	for i := range 50 {
		for _, in := range []string{callLine + "\n", callLine} {
			cmd := exec.Command("sentinel-mcp", "--sentinel", path)
			cmd.Stdin = strings.NewReader(in)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), `"structuredContent":{"success":true,`) {
				t.Fatalf("run %d, last line with end %v: %v, answer %q", i, strings.HasSuffix(in, "\n"), err, out)
			}
		}
	}
}
