// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"strings"
	"testing"

	"sentinel/internal/ops"
)

// What takes long must not take the machine away from others, and who is not root has nothing to ask
// for.
func TestOnlyWhatIsShortIsPreferred(t *testing.T) {
	for _, root := range []bool{true, false} {
		for _, op := range ops.Actions() {
			var asked []bool
			p := nowhere()
			p.Root = root
			p.Prefer = func(root bool) { asked = append(asked, root) }
			p.Run(t.Context(), []string{"--request", op.Name}, strings.NewReader("{}"), io.Discard, io.Discard)
			if len(asked) > 1 || (len(asked) == 1) != op.Preferred || len(asked) == 1 && asked[0] != root {
				t.Errorf("%s, root %v: preferred as root %v", op.Name, root, asked)
			}
		}
	}
}
