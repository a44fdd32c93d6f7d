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

// Behind sudo nobody can be asked. A person at a terminal is asked here, where root would be, and
// what they typed is theirs for a policy that wants a person to agree.
func TestAPersonAtATerminalAgreesByTyping(t *testing.T) {
	const (
		through = "-k -n /usr/bin/sentinel --request "
		asking  = through + `block_ip_address {"_context":{"asking":true},"dry_run":true,"end_session":false,"ip":"203.0.113.7"}`
		block   = through + `block_ip_address {"_context":{"asked":"typed"},"dry_run":false,"end_session":false,"ip":"203.0.113.7"}`
	)
	dry := func(question string) sysexec.Result {
		return sysexec.Result{Stdout: []byte(`{"success":true,"action":"block_ip","dry_run":true,"details":"Would block it.","asking":{"policy":"required","plan":"p","idle":false,"question":"` + question + `"}}`)}
	}
	kill := sysexec.Result{Stdout: []byte(`{"success":true,"action":"terminate_process","process_name":"x","pid":5}`)}
	for name, c := range map[string]struct {
		args, answer string
		run          sysexec.Result
		seen         []string
		exit         int
		question     bool
	}{
		"nothing to ask": {"--block-ip 203.0.113.7", "", dry(""), []string{asking, block}, 0, false},
		"yes":            {"--block-ip 203.0.113.7", "y\n", dry("Block it?"), []string{asking, block}, 0, true},
		"no":             {"--block-ip 203.0.113.7", "n\n", dry("Block it?"), []string{asking}, 130, true},
		"--yes":          {"--block-ip 203.0.113.7 --yes", "", dry("Block it?"), []string{block}, 0, false},
		"never asks":     {"--kill 5", "", kill, []string{through + `terminate_process {"_context":{"asked":"typed"},"dry_run":false,"end_session":false,"graceful":false,"pid":5}`}, 0, false},
		"a dry run":      {"--block-ip 203.0.113.7 --dry-run", "", dry(""), []string{through + `block_ip_address {"dry_run":true,"end_session":false,"ip":"203.0.113.7"}`}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			master, terminal := testenv.Terminal(t)
			if _, err := master.WriteString(c.answer); err != nil {
				t.Fatal(err)
			}
			sudo := behindSudo{run: c.run}
			var out bytes.Buffer
			exit := shell(t, &sudo, 990).Run(t.Context(), append(strings.Fields(c.args), "--json"), terminal, &out, terminal)
			if exit != c.exit {
				t.Errorf("exit %d, want %d: %s", exit, c.exit, out.String())
			}
			if diff := cmp.Diff(c.seen, sudo.seen); diff != "" {
				t.Errorf("asked of sudo (-want +got):\n%s", diff)
			}
			if _, err := terminal.WriteString("\x00"); err != nil { // marks the end
				t.Fatal(err)
			}
			if shown := readUntilNUL(t, master); strings.Contains(shown, "[y/N]") != c.question {
				t.Errorf("shown: %q", shown)
			}
		})
	}
}
