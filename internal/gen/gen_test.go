// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommittedFilesAreThoseOfTheGenerator(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what the source says; run: make generate\n%s", path, firstDifference(string(want), string(got)))
		}
	}
	if len(files) < 40 {
		t.Errorf("only %d files are generated", len(files))
	}
}

// firstDifference returns the first line that differs; git diff shows the rest.
func firstDifference(want, got string) string {
	wanted, had := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(had)) {
		if wanted[i] != had[i] {
			return fmt.Sprintf("line %d: the generator says %q, the file %q", i+1, wanted[i], had[i])
		}
	}
	return fmt.Sprintf("the generator makes %d lines, the file has %d", len(wanted), len(had))
}
