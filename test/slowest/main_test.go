// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const events = `{"Action":"run","Package":"sentinel/internal/a","Test":"TestLong"}
{"Action":"pass","Package":"sentinel/internal/a","Test":"TestLong/part","Elapsed":30}
{"Action":"pass","Package":"sentinel/internal/a","Test":"TestLong","Elapsed":31.2}
{"Action":"fail","Package":"sentinel/internal/a","Test":"TestLonger","Elapsed":40}
{"Action":"pass","Package":"sentinel/internal/a","Test":"TestQuick","Elapsed":0.1}
{"Action":"pass","Package":"sentinel/internal/a","Elapsed":71}
`

func TestLongestTestsComeFirstWithTheirReason(t *testing.T) {
	ended, err := slow(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := report(&out, ended, parseReasons("internal/a TestLong boots a machine\n\n# other text\n")); err != nil {
		t.Fatal(err)
	}
	const want = "The tests that took longest, of 2 that took 8 s or more:\n" +
		"40 s  internal/a  TestLonger  no reason is written down in test/slowest/reasons.txt\n" +
		"31 s  internal/a  TestLong    boots a machine\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestEveryReasonNamesATest(t *testing.T) {
	for name := range parseReasons(reasons) {
		pkg, test, _ := strings.Cut(name, " ")
		files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(files, func(file string) bool {
			raw, err := os.ReadFile(file)
			return err == nil && bytes.Contains(raw, []byte("func "+test+"("))
		})
		if !there {
			t.Errorf("reasons.txt: %s has no test %s", pkg, test)
		}
	}
}

func TestEventsThatAreNotJSONAreAnError(t *testing.T) {
	if _, err := slow(strings.NewReader("ok sentinel 0.1s\n")); err == nil {
		t.Error("no error")
	}
}
