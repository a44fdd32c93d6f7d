// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"strings"
	"testing"

	"sentinel/internal/ops"
)

// The flags of a server go with --install, which enters them, and with nothing else that is no server.
func TestCompletionsOfferWhatGoesTogether(t *testing.T) {
	o, err := parseOptions([]string{"--completion", "bash"}, ops.All())
	if err != nil {
		t.Fatal(err)
	}
	const server = "--sentinel --toolsets --read-only --disable-tool --host --timeout --log-level"
	script := o.completions()
	for _, want := range []string{
		"      *:--install) _sentinel_mcp_offer " + server + " --guarded --dry-run --json; return ;;\n",
		"      *:--uninstall) _sentinel_mcp_offer --dry-run --json; return ;;\n",
		"      *:--version) return ;;\n",
		"  done\n  _sentinel_mcp_offer " + server + " --install --uninstall --completion --version --help\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in\n%s", want, script)
		}
	}
}
