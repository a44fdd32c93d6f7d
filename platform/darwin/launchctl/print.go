// SPDX-License-Identifier: Apache-2.0

package launchctl

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Job is one job as "launchctl print" shows it.
type Job struct {
	Target   string // DOMAIN/LABEL; before macOS 10.12 only the label
	File     string // its property list, or "(submitted by ...)"
	Type     string // LaunchDaemon, LaunchAgent, ...
	State    string // running, not running, waiting, spawn scheduled, xpcproxy, ...
	Program  string
	PID      int // 0 without a process
	Runs     int // how often it was started since it was loaded
	HasRuns  bool
	Exited   bool   // it ended by itself, with Exit; not set if Signal is
	Exit     int    // status
	Signal   int    // the signal that last ended it; 0 for none
	Reason   string // why the system ended it, such as OS_REASON_CODESIGNING
	LogFile  string // the file that it writes its errors to, or all its output
	Throttle time.Duration

	Arguments  []string // including the program
	KeepAlive  bool     // unconditionally
	RunAtLoad  bool
	Semaphores []string // conditions on which it is kept alive, such as "successful exit => 0"
	OnDemand   bool     // messages, sockets or events start it
}

// parsePrint reads
//
//	system/com.example.web = {
//		state = running
//		arguments = {
//			/usr/local/bin/web
//		}
//		pid = 812
//		properties = keepalive | runatload
//	}
//
// The properties of the job have the indent of the first line; deeper blocks use the same words for
// other things.
func parsePrint(raw []byte) (Job, error) {
	head, rest, _ := strings.Cut(strings.TrimLeft(string(raw), "\n"), "\n")
	target, found := strings.CutSuffix(strings.TrimRight(head, " \r"), " = {")
	if !found {
		return Job{}, unexpectedOutput("job")
	}
	p := printParser{job: Job{Target: target}, indent: indentOf(rest)}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, " \r\n")
		if line == "}" {
			return p.done()
		}
		p.line(line)
	}
	return p.job, unexpectedOutput("end of the job")
}

func indentOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

// printParser is the state of parsing a job.
type printParser struct {
	job    Job
	indent string
	block  string // the block that the line is in; "" for the job itself
}

func (p *printParser) done() (Job, error) {
	if p.indent == "" || p.job.State == "" {
		return p.job, unexpectedOutput("state")
	}
	return p.job, nil
}

func (p *printParser) line(line string) {
	text, own := strings.CutPrefix(line, p.indent)
	own = own && indentOf(text) == ""
	switch {
	case own && text == "}":
		p.block = ""
	case own && strings.HasSuffix(text, " = {"):
		p.block = strings.TrimSuffix(text, " = {")
	case own && p.block == "":
		key, value, _ := strings.Cut(text, " = ")
		p.set(key, value)
	case !own && text != "":
		p.blockLine(strings.TrimSpace(line))
	}
}

// blockLine parses a line of a block.
func (p *printParser) blockLine(text string) {
	switch p.block {
	case "arguments":
		p.job.Arguments = append(p.job.Arguments, text)
	case "semaphores":
		p.job.Semaphores = append(p.job.Semaphores, text)
	case "endpoints", "sockets", "event triggers", "event channels":
		p.job.OnDemand = true
	case "properties": // until macOS 10.11
		p.job.KeepAlive = p.job.KeepAlive || text == "keepalive = 1"
		p.job.RunAtLoad = p.job.RunAtLoad || text == "runatload = 1"
	}
}

// set stores a property of the job. An argument that contains a newline can look like one, so of
// the properties that are printed before the arguments the first occurrence counts, and of those
// after them the last.
func (p *printParser) set(key, value string) {
	j := &p.job
	for name, field := range map[string]*string{"path": &j.File, "type": &j.Type, "state": &j.State, "program": &j.Program} {
		if key == name && *field == "" {
			*field = value
		}
	}
	switch key {
	case "pid":
		j.PID = number(value)
	case "runs":
		j.Runs, j.HasRuns = number(value), true
	case "last exit code":
		j.Exit, j.Exited = status(value)
	case "last terminating signal":
		j.Signal = number(value[strings.LastIndexByte(value, ' ')+1:])
	case "last exit reason":
		j.Reason = value
	case "minimum runtime":
		j.Throttle = time.Duration(number(value)) * time.Second
	case "stderr path":
		j.LogFile = value
	case "stdout path":
		if j.LogFile == "" {
			j.LogFile = value
		}
	case "properties":
		words := strings.Split(value, " | ")
		j.KeepAlive, j.RunAtLoad = slices.Contains(words, "keepalive"), slices.Contains(words, "runatload")
	}
}

// number parses a count; anything else is 0.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// status parses "0", "78: EX_CONFIG" and "(never exited)".
func status(text string) (code int, exited bool) {
	text, _, _ = strings.Cut(text, ":")
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}
