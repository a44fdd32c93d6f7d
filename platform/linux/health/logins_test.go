// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Whoever fills the log takes no guessing away that is known.
func TestKnownGuessingIsToldThoughTheLogWasFilled(t *testing.T) {
	stamp := time.Now().Format(time.RFC3339)
	filled := strings.Repeat(stamp+" host x: "+strings.Repeat("x", 8000)+"\n", 600)
	for failures, want := range map[int]string{guessing - 1: "", guessing: "20 stand in /var/log/auth.log alone, where any user can write"} {
		var log strings.Builder
		log.WriteString(filled)
		for range failures {
			fmt.Fprintf(&log, "%s host sshd[7]: Failed password for root from 203.0.113.9 port 1 ssh2\n", stamp)
		}
		got, err := tree(t, map[string]string{"var/log/auth.log": log.String()}).failedLogins(t.Context())
		names := strings.Join(got.Names, "; ")
		if told := want != ""; told != (err == nil) || told != (got.Value == guessing) || told != (got.More != nil && strings.HasPrefix(got.More.Error(), "the last 4 MB of /var/log/auth.log do not reach back to ")) || !strings.HasPrefix(names, want) || !told && names != "" {
			t.Errorf("%d: %+v, %v", failures, got, err)
		}
	}
}

// Whoever calls logger makes no fact of an address, and nothing critical.
func TestWhatAnyUserCanWriteIsNoFact(t *testing.T) {
	line := time.Now().Format(time.RFC3339) + " host sshd[77]: Failed password for root from 203.0.113.9 port 1 ssh2\n"
	got, err := tree(t, map[string]string{"var/log/auth.log": strings.Repeat(line, 1100)}).failedLogins(t.Context())
	const want = "1100 stand in /var/log/auth.log alone, where any user can write"
	if err != nil || got.Value != 1100 || got.Proven == nil || *got.Proven != 0 || strings.Join(got.Names, "; ") != want {
		t.Errorf("%+v, %v", got, err)
	}
}
