// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// A person who starts the server by hand is told what it is and how it ends. A
// client that gives it a terminal is served all the same.
func TestOnATerminalItSaysHowItIsUsedAndServes(t *testing.T) {
	keys, terminal := testenv.Terminal(t)
	defer terminal.Close()
	fmt.Fprint(keys, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n\x04") // Control-D
	var stdout, stderr bytes.Buffer
	if status := Run(t.Context(), "linux", nil, terminal, &stdout, &stderr); status != 0 {
		t.Errorf("status %d", status)
	}
	if got := stdout.String(); got != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("stdout is %q", got)
	}
	for _, want := range []string{"a server for assistants", "sentinel-mcp --install claude-desktop", "Control-D ends it."} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not said:\n%s", want, stderr.String())
		}
	}
	for line := range strings.Lines(stderr.String()) {
		if len(line) > 81 {
			t.Errorf("wider than a terminal: %q", line)
		}
	}
	stderr.Reset()
	if status := Run(t.Context(), "linux", nil, strings.NewReader(""), &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Errorf("without a terminal: status %d, %q", status, stderr.String())
	}
}
