// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"

	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// On a real terminal of 80 columns every operation shows its view, and nothing
// but the colour of the verdict could move the cursor.
func TestATerminalGetsTheView(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	var all sync.WaitGroup // Setenv excludes Parallel
	for _, op := range ops.All() {
		all.Go(func() {
			t.Run(op.Name, func(t *testing.T) {
				var args []string
				if op.Flag != "" {
					args = []string{"--" + op.Flag}
				}
				shown := onTerminal(t, args)
				if at := coloured.FindStringIndex(shown); at == nil || at[0] != 0 {
					t.Errorf("the first line is no verdict: %q", shown[:min(80, len(shown))])
				}
				for line := range strings.Lines(coloured.ReplaceAllString(shown, "$1")) {
					line = strings.TrimRight(line, "\r\n")
					if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
						t.Errorf("there is a control character in %q", line)
					}
					if w := text.StringWidth(line); w > 80 && !isCommand(strings.TrimSpace(line)) {
						t.Errorf("a line is %d wide: %s", w, line)
					}
				}
			})
		})
	}
	all.Wait()
	if shown := onTerminal(t, []string{"--top", "--json"}); !strings.HasPrefix(shown, "{") {
		t.Errorf("--json on a terminal shows %q", shown[:min(80, len(shown))])
	}
	if shown := onTerminal(t, []string{"--nope"}); !strings.Contains(shown, "There is no flag --nope.") || strings.HasPrefix(shown, "{") {
		t.Errorf("an error on a terminal shows %q", shown)
	}
}

// onTerminal runs sentinel with a pseudo-terminal as its stdout.
func onTerminal(t *testing.T, args []string) string {
	t.Helper()
	p := Program{
		Open:       func() (*host.Host, error) { return local.Open("/") },
		ConfigPath: t.TempDir() + "/none.yaml",
		StateDir:   t.TempDir(),
		Getenv:     os.Getenv,
		Environ:    func() []string { return []string{"SENTINEL_PAGER=cat"} },
	}
	return shown(t, func(terminal *os.File) { p.Run(t.Context(), args, strings.NewReader(""), terminal, os.Stderr) })
}

// shown returns what write leaves on a terminal of 24 rows and 80 columns.
func shown(t *testing.T, write func(terminal *os.File)) string {
	t.Helper()
	master, terminal := testenv.Terminal(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		write(terminal)
		terminal.Close()
	}()
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := master.Read(buf)
		text.Write(buf[:n])
		if err != nil { // EIO when the last writer is gone
			break
		}
	}
	<-done
	return text.String()
}
