// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/testenv"
)

// Only the end of the holder lets the others continue, so the error must name it.
func TestBusyJournalNamesWhoHoldsIt(t *testing.T) {
	j := fresh(t)
	act(t, j, 1)
	holder := exec.Command("/usr/bin/flock", filepath.Join(j.dir, lockName), "/bin/cat")
	in, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); holder.Wait() })
	j.lockTimeout = 20 * time.Millisecond
	var known *fault.Error
	testenv.WaitFor(t, "a refusal", func() bool {
		_, err = j.Begin(t.Context(), block("x"), nil)
		return errors.As(err, &known)
	})
	if known.Code != fault.JournalFailed ||
		!strings.Contains(known.Message, fmt.Sprintf("process %d, another run", holder.Process.Pid)) || !strings.HasSuffix(known.Fix, fmt.Sprintf("sudo kill -9 %d", holder.Process.Pid)) {
		t.Errorf("%v", err)
	}
}
