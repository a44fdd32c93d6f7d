// SPDX-License-Identifier: Apache-2.0

package health

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
)

// Reading the clock takes no root, so a refusal must not be answered with advice to become root.
func TestAClockThatAContainerHidesIsNotForRootEither(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{{unix.EPERM, "container"}, {errors.New("broken"), "broken"}} {
		if got := answer.Reason(clockError(c.err)); !strings.Contains(got, c.want) || strings.Contains(got, "root") {
			t.Errorf("%v: %q, want %q and nothing of root", c.err, got, c.want)
		}
	}
}
