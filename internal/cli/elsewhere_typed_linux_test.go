// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A person at a terminal is asked before a change on another machine as before one here, with its name.
func TestAPersonAgreesToAChangeElsewhere(t *testing.T) {
	const (
		asking = `{"_context":{"asking":true},"dry_run":true,"ip":"203.0.113.7"}`
		block  = `{"_context":{CALLER,"asked":"typed"},"ip":"203.0.113.7"}`
	)
	dry := `{"success":true,"action":"block_ip","version":"0.1.0","dry_run":true,"details":"Would block it.","asking":{"policy":"required","plan":"p","idle":false,"question":"Block it?"}}`
	for answer, want := range map[string]struct {
		requests []string
		exit     int
	}{
		"y\n": {[]string{asking, block}, 0},
		"n\n": {[]string{asking}, 130},
	} {
		master, terminal := testenv.Terminal(t)
		if _, err := master.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		ssh := &behindSSH{answer: func(string) sysexec.Result { return sysexec.Result{Stdout: []byte(dry)} }}
		var out bytes.Buffer
		exit := reaching(t, ssh).Run(t.Context(), strings.Fields("--host web1 --block-ip 203.0.113.7 --json"), terminal, &out, terminal)
		var requests []string
		for _, r := range ssh.requests {
			requests = append(requests, callerOf.ReplaceAllString(r, "CALLER"))
		}
		if diff := cmp.Diff(want.requests, requests); diff != "" || exit != want.exit {
			t.Errorf("%q: exit %d, requests (-want +got):\n%s", answer, exit, diff)
		}
		if _, err := terminal.WriteString("\x00"); err != nil { // marks the end
			t.Fatal(err)
		}
		if shown := readUntilNUL(t, master); !strings.Contains(shown, `web1 says: "Would block it."`) || !strings.Contains(shown, `web1 says: "Block it?" [y/N]`) {
			t.Errorf("shown: %q", shown)
		}
	}
}
