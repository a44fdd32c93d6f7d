// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the source says; run: make generate (-generator +file)\n%s", path, diff)
		}
	}
	if len(files) < 40 {
		t.Errorf("only %d files are generated", len(files))
	}
}
