// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/testenv"
)

// asked answers at a terminal and returns what was shown there.
func asked(t *testing.T, call invocation, c change, answer string) (shown string, err error) {
	t.Helper()
	master, terminal := testenv.Terminal(t)
	defer terminal.Close()
	if _, err := master.WriteString(answer); err != nil {
		t.Fatal(err)
	}
	call.stderr = terminal
	err = ask(t.Context(), call, c, terminal)
	if _, err := terminal.WriteString("\x00"); err != nil { // marks the end
		t.Fatal(err)
	}
	return readUntilNUL(t, master), err
}

// readUntilNUL returns what a terminal was sent up to the byte that marks its end.
func readUntilNUL(t *testing.T, master *os.File) string {
	t.Helper()
	var b strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(b.String(), "\x00") {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(buf[:n])
	}
	return b.String()
}

func closing() change {
	web := firewall.Listener{Port: firewall.Port{Number: 443, Protocol: "tcp"}, Process: "nginx", Connections: new(2)}
	sshd := firewall.Listener{Port: firewall.Port{Number: 22, Protocol: "tcp"}, Process: "sshd", Connections: new(1)}
	e := firewall.Enabled{Closes: []firewall.Listener{web}, ClosesTotal: 1, StaysOpen: []firewall.Listener{sshd}, StaysOpenTotal: 1}
	return change{would: "ufw would be switched on.", preview: enablePreview{Enabled: e}, question: "Switch it on?"}
}

func TestPersonSeesWhatTheFirewallClosesBeforeSayingYes(t *testing.T) {
	shown, err := asked(t, invocation{}, closing(), "y\n")
	if err != nil {
		t.Error(err)
	}
	text := strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{
		"ufw would be switched on.", "1 service that other hosts could not reach any more", "443/tcp nginx 2", "1 service that other hosts could still reach", "22/tcp sshd 1",
		"sudo sentinel --fix-firewall --keep-open 443/tcp", "Switch it on? [y/N]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, shown)
		}
	}
}

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " yes \n": true, "n\n": false, "\n": false, "yes please\n": false, "\x04": false} {
		_, err := asked(t, invocation{}, closing(), answer)
		if (err == nil) != want || err != nil && fault.From(err).Code != fault.Cancelled {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

func TestNobodyIsAskedWhereNobodyCanAnswer(t *testing.T) {
	idle := closing()
	idle.question = ""
	for name, c := range map[string]struct {
		call   invocation
		change change
	}{
		"--yes":         {invocation{yes: true}, closing()},
		"a program":     {invocation{request: true}, closing()},
		"nothing to do": {invocation{}, idle},
	} {
		if shown, err := asked(t, c.call, c.change, "n\n"); err != nil || strings.Contains(shown, "[y/N]") {
			t.Errorf("%s: %q, %v", name, shown, err)
		}
	}
	_, terminal := testenv.Terminal(t)
	defer terminal.Close()
	if err := ask(t.Context(), invocation{stderr: terminal}, closing(), strings.NewReader("")); err != nil {
		t.Errorf("no terminal to answer at: %v", err)
	}
	if err := ask(t.Context(), invocation{stderr: new(strings.Builder)}, closing(), terminal); err != nil {
		t.Errorf("no terminal to be asked at: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ctx, invocation{stderr: terminal}, closing(), terminal); err == nil || fault.From(err).Code != fault.Cancelled {
		t.Errorf("interrupted: %v", err)
	}
}
