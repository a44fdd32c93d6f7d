// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"slices"
	"strings"
	"time"

	"sentinel/platform/linux/journald"
)

// Log implements [services.Manager].
func (m *manager) Log(ctx context.Context, name string, since time.Time, lines int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	texts := []string{}
	_, err := m.journal.Read(ctx, journald.Query{Unit: name, Since: since, Priority: -1, Last: lines}, func(e *journald.Entry) bool {
		text := strings.TrimSpace(string(e.Message))
		if text != "" && len(e.Identifier) > 0 {
			text = string(e.Identifier) + ": " + text
		}
		if text != "" {
			texts = append(texts, text)
		}
		return true
	})
	slices.Reverse(texts)
	return texts, err
}
