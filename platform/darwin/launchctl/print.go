// SPDX-License-Identifier: Apache-2.0

package launchctl

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Job is one job as "launchctl print" has it.
type Job struct {
	Target   string // DOMAIN/LABEL; before macOS 10.12 the label alone
	File     string // its property list, or "(submitted by ...)"
	Type     string // LaunchDaemon, LaunchAgent, ...
	State    string // running, not running, waiting, spawn scheduled, xpcproxy, ...
	Program  string
	PID      int // 0 without a process
	Runs     int // how often it was started since it was loaded
	HasRuns  bool
	Exited   bool   // it has ended by itself, with Exit; not set when Signal is
	Exit     int    // status
	Signal   int    // that ended it last; 0 for none
	Reason   string // why the system ended it, such as OS_REASON_CODESIGNING
	Output   string // the file that it writes its errors to, or all its output
	Throttle time.Duration

	Arguments  []string // with the program first
	KeepAlive  bool     // whatever happens
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
// What belongs to the job stands under the indent of the first line; deeper blocks
// repeat its words for other things.
func parsePrint(raw []byte) (Job, error) {
	head, rest, _ := strings.Cut(strings.TrimLeft(string(raw), "\n"), "\n")
	target, found := strings.CutSuffix(strings.TrimRight(head, " \r"), " = {")
	if !found {
		return Job{}, errForm("job")
	}
	p := printed{job: Job{Target: target}, indent: indentOf(rest)}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, " \r\n")
		if line == "}" {
			return p.done()
		}
		p.line(line)
	}
	return p.job, errForm("end of the job")
}

func indentOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

// printed is a job while its lines are read.
type printed struct {
	job    Job
	indent string
	block  string // that the line is in; "" for the job itself
}

func (p *printed) done() (Job, error) {
	if p.indent == "" || p.job.State == "" {
		return p.job, errForm("state")
	}
	return p.job, nil
}

func (p *printed) line(line string) {
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
		p.inside(strings.TrimSpace(line))
	}
}

// inside takes a line of a block.
func (p *printed) inside(text string) {
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

// set takes a line of the job. Arguments with newlines in them can look like one:
// of what is printed before them the first line counts, of what comes later the last.
func (p *printed) set(key, value string) {
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
		j.Output = value
	case "stdout path":
		if j.Output == "" {
			j.Output = value
		}
	case "properties":
		words := strings.Split(value, " | ")
		j.KeepAlive, j.RunAtLoad = slices.Contains(words, "keepalive"), slices.Contains(words, "runatload")
	}
}

// number reads a count; what is none is 0.
func number(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// status reads "0", "78: EX_CONFIG" and "(never exited)".
func status(text string) (code int, exited bool) {
	text, _, _ = strings.Cut(text, ":")
	n, err := strconv.ParseInt(text, 10, 32)
	return int(n), err == nil
}
