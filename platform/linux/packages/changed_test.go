// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

func TestWhenPackagesWereChanged(t *testing.T) {
	if got := Changed(t.TempDir()); !got.IsZero() {
		t.Errorf("%v without a package manager", got)
	}
	for _, name := range databases {
		root := testenv.Plant(t, map[string]string{name: "", "var/lib/dpkg/lock": ""})
		at := time.Unix(1_800_000_000, 0)
		if err := os.Chtimes(filepath.Join(root, name), at, at); err != nil {
			t.Fatal(err)
		}
		if got := Changed(root); !got.Equal(at) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
