// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/progress"
)

// What takes longer than a moment tells the program that asked what it is doing, in percentages that
// do not fall.
func TestARequestSaysWhatItIsDoing(t *testing.T) {
	for tool, want := range map[string][]string{
		"security_audit":     {"checking 1 of ", "checking 12 of "},
		"check_updates":      {"reading the package lists"},
		"get_logs":           {"reading the logs"},
		"get_logins":         {"reading the records of logins", "looking who is logged in"},
		"get_startup_items":  {"reading what starts by itself"},
		"get_containers":     {"asking the container engines"},
		"get_service_status": {"asking the service manager"},
		"get_fleet_health":   {"asking 1 machine"},
	} {
		var stdout, stderr bytes.Buffer
		p := Program{
			Open: func() (*host.Host, error) {
				return local.Open(filepath.Join("..", "..", "testdata", "hosts", "laptop"))
			},
			ConfigPath: filepath.Join(t.TempDir(), "config.yaml"),
		}
		p.Run(t.Context(), []string{"--request", tool}, strings.NewReader("{}"), &stdout, &stderr)
		said, last := "", -1
		for line := range strings.Lines(stderr.String()) {
			percent, words, ok := progress.Parse(strings.TrimSuffix(line, "\n"))
			if !ok || percent < last || words == "" {
				t.Errorf("%s: %q after %d", tool, line, last)
			}
			said, last = said+words+"\n", percent
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: %q is not said in:\n%s", tool, w, said)
			}
		}
	}
}
