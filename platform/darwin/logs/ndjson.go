// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"encoding/json"
	"path"
	"time"

	"sentinel/internal/logs"
)

// A record is one line of "log show --style ndjson". The last line has a count instead.
type record struct {
	Timestamp string `json:"timestamp"` // in the zone of the machine, with its offset
	Type      string `json:"messageType"`
	Message   string `json:"eventMessage"`
	Program   string `json:"processImagePath"`
	PID       int    `json:"processID"`
	Boot      string `json:"bootUUID"`
}

// stampLayout is that of timestamps, which have a fraction besides.
const stampLayout = "2006-01-02 15:04:05-0700"

// priorities of the types of messages: log(1) has no others that are kept.
var priorities = map[string]int{"Fault": 2, "Error": 3, "Default": 5, "Info": 6, "Debug": 7}

// parse decodes one line. It is false for anything but an entry. The entry has no unit: log(1) does not
// tell which job of launchd a process is of, and the subsystem is whatever the program has called it.
func parse(line []byte) (e logs.Entry, boot string, ok bool) {
	var r record
	if json.Unmarshal(line, &r) != nil || r.Timestamp == "" {
		return e, "", false
	}
	t, err := time.Parse(stampLayout, r.Timestamp)
	if err != nil {
		return e, "", false
	}
	priority, known := priorities[r.Type]
	if !known {
		priority = logs.NoPriority
	}
	program := ""
	if r.Program != "" {
		program = path.Base(r.Program)
	}
	return logs.Entry{Time: t, Priority: priority, Program: []byte(program), PID: max(r.PID, 0), Text: []byte(r.Message)}, r.Boot, true
}
