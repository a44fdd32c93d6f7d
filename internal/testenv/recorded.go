// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// A Recorded output was printed by a real program and published.
type Recorded struct {
	Name string // of the case, such as "status-on.txt"
	Raw  []byte
}

// RecordedOutputs returns the outputs of a macOS command in the directory
// SENTINEL_TRANSCRIPTS, as files darwin/COMMAND/CASE; none if the variable is not set. They are
// not in this repository because their licences differ.
func RecordedOutputs(t testing.TB, command string) []Recorded {
	t.Helper()
	root := os.Getenv("SENTINEL_TRANSCRIPTS")
	if root == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(root, "darwin", command, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded outputs of %s below %s (%v)", command, root, err)
	}
	var list []Recorded
	for _, file := range files {
		raw, err := os.ReadFile(file) // reading what the variable names is the purpose
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Recorded{Name: filepath.Base(file), Raw: raw})
	}
	return list
}
