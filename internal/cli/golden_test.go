// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sentinel/internal/ops"
	"sentinel/internal/schema"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file, or rewrites the file with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if the change is meant, run: make golden\n got %s\nwant %s", file, got, want)
	}
}

func schemaOf(op ops.Operation, f schema.Form) map[string]any {
	result := operations()[op.Name].result
	if result.Kind() == reflect.Pointer {
		result = result.Elem()
	}
	return f.Document(op, result)
}
