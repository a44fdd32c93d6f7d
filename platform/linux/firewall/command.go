// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

// run runs a manager and returns what it printed; ending with another status
// than 0 is an error with its own words.
func (m *Manager) run(ctx context.Context, limit time.Duration, program string, args ...string) ([]byte, error) {
	r, err := m.runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: limit, MaxOutput: maxPrinted})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		said := r.Stderr
		if len(said) == 0 {
			said = r.Stdout
		}
		return nil, fmt.Errorf("%s %s ended with status %d: %s", program, strings.Join(args, " "), r.Exit, firstLine(said))
	}
	return r.Stdout, nil
}
