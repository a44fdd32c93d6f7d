// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestRoomIsFoundOrMissing(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only looked at
	if err := reserve(f, 0, 4096); err != nil {
		t.Errorf("a page: %v", err)
	}
	if err := reserve(f, 0, 1<<62); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than any disk has: %v", err)
	}
}
