// SPDX-License-Identifier: Apache-2.0

package launchctl

import (
	"strconv"
	"strings"
)

// An Entry is one line of "launchctl list".
type Entry struct {
	PID    int // 0 without a process
	Status int // of the last run; negative for a signal, which alone does not mean a failure
	Label  string
}

// parseList parses the three columns. Other lines are skipped.
func parseList(raw []byte) ([]Entry, error) {
	_, rows, found := strings.Cut("\n"+string(raw), "\nPID\tStatus\tLabel\n")
	if !found {
		return nil, unexpectedOutput("list of jobs")
	}
	var list []Entry
	for line := range strings.Lines(rows) {
		if e, ok := parseEntry(strings.TrimRight(line, "\r\n")); ok {
			list = append(list, e)
		}
	}
	return list, nil
}

func parseEntry(line string) (Entry, bool) {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 || fields[2] == "" {
		return Entry{}, false
	}
	e := Entry{Label: fields[2]}
	var err error
	if e.Status, err = strconv.Atoi(fields[1]); err != nil {
		return Entry{}, false
	}
	if fields[0] == "-" {
		return e, true
	}
	e.PID, err = strconv.Atoi(fields[0])
	return e, err == nil && e.PID > 0
}

// parseDisabled parses the overrides set by "launchctl enable" and "disable": "LABEL" => disabled,
// or true in older versions of macOS.
func parseDisabled(raw []byte) (map[string]bool, error) {
	_, rows, found := strings.Cut(string(raw), "disabled services = {\n")
	if !found {
		return nil, unexpectedOutput("list of what is disabled")
	}
	list := map[string]bool{}
	for line := range strings.Lines(rows) {
		line = strings.TrimSpace(line)
		if line == "}" {
			break
		}
		label, state, ok := strings.Cut(line, `" => `)
		if label, quoted := strings.CutPrefix(label, `"`); ok && quoted && label != "" {
			list[label] = state == "disabled" || state == "true"
		}
	}
	return list, nil
}
