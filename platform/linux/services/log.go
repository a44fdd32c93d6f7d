// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

const (
	journalctl = "/usr/bin/journalctl"
	// maxJournal bounds how much of the journal is read, in bytes: journalctl cuts off a field at 4
	// KiB, and an entry has some thirty.
	maxJournal = 1 << 20
)

// Log implements [services.Manager]. Every value follows an equals sign, so that none can be taken
// for an option (journalctl(1)).
func (m *manager) Log(ctx context.Context, name string, since time.Time, lines int) ([]string, error) {
	r, err := m.runner.Run(ctx, sysexec.Command{
		Path: journalctl,
		Args: []string{
			"--quiet", "--no-pager", "--output=json", "--lines=" + strconv.Itoa(lines),
			fmt.Sprintf("--since=@%d.%06d", since.Unix(), since.Nanosecond()/1000), "--unit=" + name,
		},
		MaxOutput: maxJournal,
		Timeout:   callLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("read the journal: journalctl ended with status %d", r.Exit)
	}
	return parseJournal(r.Stdout), nil
}

// parseJournal returns the text of each entry of "journalctl --output=json", one object per line,
// with the program that wrote it. Entries without text and truncated ones are left out.
func parseJournal(b []byte) []string {
	texts := []string{}
	for line := range bytes.Lines(b) {
		var entry struct {
			Message    json.RawMessage `json:"MESSAGE"`
			Identifier json.RawMessage `json:"SYSLOG_IDENTIFIER"`
		}
		if json.Unmarshal(line, &entry) != nil {
			continue
		}
		message, writer := strings.TrimSpace(fieldText(entry.Message)), fieldText(entry.Identifier)
		if message == "" {
			continue
		}
		if writer != "" {
			message = writer + ": " + message
		}
		texts = append(texts, message)
	}
	return texts
}

// fieldText reads a field of the journal: a string, an array of bytes when it
// is not plain UTF-8, an array of these when the field repeats, null when it is too long
// (systemd.io/JOURNAL_EXPORT_FORMATS). Of several, the first counts.
func fieldText(raw json.RawMessage) string {
	var several []json.RawMessage
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 && several[0][0] != '[' && several[0][0] != '"' {
		return octets(raw)
	}
	if len(several) > 0 {
		raw = several[0]
	}
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	return octets(raw)
}

func octets(raw json.RawMessage) string {
	var numbers []int
	if json.Unmarshal(raw, &numbers) != nil {
		return ""
	}
	b := make([]byte, 0, len(numbers))
	for _, n := range numbers {
		b = append(b, byte(n))
	}
	return string(b)
}
