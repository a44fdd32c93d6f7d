// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A folder that cannot be read is not one without files.
func TestSegmentsOfWhatIsNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if old, err := New(file, "").rotatedSegments(); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("%d segments, %v", len(old), err)
	}
}
