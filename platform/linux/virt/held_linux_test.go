// SPDX-License-Identifier: Apache-2.0

package virt

import (
	"os"
	"os/exec"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// innerEnv is set in the run of this test whose first process is another one.
const innerEnv = "SENTINEL_TEST_OTHER_FIRST_PROCESS"

// Everybody may hold the directory of the first process, and almost every answer depends on whether this is a container.
func TestWhoHoldsTheFirstProcessHoldsNoAnswerUp(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	if os.Getenv(innerEnv) == "" {
		cmd := exec.CommandContext(t.Context(), testenv.Program(t, "unshare", "util-linux"), "--pid", "--fork", "--kill-child", "--mount-proc",
			"/bin/sh", "-c", `"$0" "$@"; exit $?`, os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), innerEnv+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	deadfuse.Become()
	testenv.HangGuard(t)
	release := deadfuse.Hold(t, 1000, "/proc/1")
	got := Container("/")
	release()
	if want := Container("/"); got != want {
		t.Errorf("%q, without a user who holds it %q", got, want)
	}
}
