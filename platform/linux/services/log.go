// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sentinel/internal/privilege"
	"sentinel/internal/services"
	"sentinel/platform/linux/journald"
)

// errUnreadable says that no line may mean that none may be read: journalctl is silent about it.
var errUnreadable = errors.New("no line of it can be read without root or the group systemd-journal")

// Log implements [services.Manager].
func (m *manager) Log(ctx context.Context, name string, since time.Time, lines int) ([]services.LogLine, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	found := []services.LogLine{}
	journal := journald.Journal{Root: m.root, Runner: m.runner}
	_, err := journal.Read(ctx, journald.Query{Unit: name, Since: since, Priority: -1, Last: lines}, func(e *journald.Entry) bool {
		text := strings.TrimSpace(string(e.Message))
		if text != "" && len(e.Identifier) > 0 {
			text = string(e.Identifier) + ": " + text
		}
		if text != "" {
			found = append(found, services.LogLine{At: time.UnixMicro(e.Realtime), Text: text})
		}
		return true
	})
	if err == nil && len(found) == 0 && !privilege.IsRoot() {
		err = errUnreadable
	}
	slices.Reverse(found)
	return found, err
}
