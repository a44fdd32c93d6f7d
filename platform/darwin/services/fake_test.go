// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/sysexec"
)

// A fake is a Mac whose launchd keeps state. It prints what launchctl of macOS 26
// was recorded to print, or that of macOS 12. Its clock is that of the test.
type fake struct {
	old      bool // macOS 12
	root     bool
	jobs     map[string]*job
	disabled map[string][]string // labels by domain
	ps       string
	log      []string // lines below the header
	logFails bool
	statuses map[string]int // of the last run, in the list of jobs

	mu    sync.Mutex
	pids  int
	calls []string
}

// A job is one of launchd. lives are what becomes of its processes after a restart,
// in turn; the last one stays.
type job struct {
	keep, load bool
	pid        int
	runs       int
	ended      string // lines about its last end
	stops      time.Duration
	refuses    string // what kickstart says, "CODE: TEXT"
	file       string
	program    string
	lives      []life
	started    time.Time
	next       time.Time // when it is started again, unless zero
}

// A life lasts for ever, or ends with a line of launchctl.
type life struct {
	lasts time.Duration
	ends  string
}

const throttle = 10 * time.Second

// now processes the events that are due by now.
func (m *fake) now(j *job) {
	for {
		switch now := time.Now(); {
		case j.pid != 0 && len(j.lives) > 0 && j.lives[0].ends != "" && !j.started.IsZero() && now.Sub(j.started) >= j.lives[0].lasts:
			j.pid, j.ended = 0, "\t"+j.lives[0].ends+"\n"
			if len(j.lives) > 1 {
				j.lives = j.lives[1:]
			}
			if j.keep {
				j.next = j.started.Add(throttle)
			}
		case !j.next.IsZero() && !now.Before(j.next):
			m.spawn(j, j.next)
		default:
			return
		}
	}
}

func (m *fake) spawn(j *job, at time.Time) {
	m.pids++
	j.pid, j.runs, j.started, j.next = 1000+m.pids, j.runs+1, at, time.Time{}
}

// Run implements [sysexec.Runner].
func (m *fake) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	argv := strings.Join(append([]string{c.Path}, c.Args...), " ")
	m.mu.Lock()
	m.calls = append(m.calls, argv)
	m.mu.Unlock()
	switch {
	case c.Path == "/bin/launchctl" && c.Args[0] == "kickstart":
		return m.kickstart(ctx, c.Args[2], c.Timeout)
	case c.Path == "/bin/launchctl":
		return m.read(c.Args)
	case c.Path == "/bin/ps":
		return sysexec.Result{Stdout: []byte(m.ps)}, nil
	case c.Path == "/usr/bin/log" && !m.logFails:
		lines := append(slices.Clone(m.log), `{"count":1,"finished":1}`)
		for i, line := range lines {
			lines[i] = strings.ReplaceAll(line, "NOW", time.Now().UTC().Format(stampForm))
		}
		return sysexec.Result{Stdout: []byte(strings.Join(lines, "\n") + "\n")}, nil
	}
	return sysexec.Result{}, fmt.Errorf("run %s: %w", argv, fs.ErrNotExist)
}

func (m *fake) read(args []string) (sysexec.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch args[0] {
	case "print":
		if j := m.jobs[args[1]]; j != nil {
			m.now(j)
			return sysexec.Result{Stdout: []byte(j.print(args[1]))}, nil
		}
		return m.missing(args[1]), nil
	case "list":
		text := "PID\tStatus\tLabel\n"
		for _, target := range slices.Sorted(keys(m.jobs)) {
			if label, system := strings.CutPrefix(target, "system/"); system {
				pid := "-"
				if running := m.jobs[target].pid; running != 0 {
					pid = strconv.Itoa(running)
				}
				text += fmt.Sprintf("%s\t%d\t%s\n", pid, m.statuses[label], label)
			}
		}
		return sysexec.Result{Stdout: []byte(text)}, nil
	}
	text := "\n\tdisabled services = {\n"
	for _, label := range m.disabled[args[1]] {
		text += "\t\t\"" + label + "\" => disabled\n"
	}
	return sysexec.Result{Stdout: []byte(text + "\t}\n")}, nil
}

func keys(jobs map[string]*job) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range jobs {
			if !yield(key) {
				return
			}
		}
	}
}

func (m *fake) missing(target string) sysexec.Result {
	parts := strings.Split(target, "/")
	domain := "system"
	if len(parts) == 3 {
		domain = "user " + parts[0] + ": " + parts[1]
	}
	text := fmt.Sprintf("Could not find service %q in domain for %s\n", parts[len(parts)-1], domain)
	if !m.old {
		text = "Bad request.\n" + text
	}
	return sysexec.Result{Exit: 113, Stderr: []byte(text)}
}

func (j *job) print(target string) string {
	state, count := "not running", 0
	switch {
	case j.pid != 0:
		state, count = "running", 1
	case !j.next.IsZero():
		state = "spawn scheduled"
	}
	text := fmt.Sprintf("%s = {\n\tactive count = %d\n\tpath = %s\n\ttype = LaunchDaemon\n\tstate = %s\n\n\tprogram = %s\n\targuments = {\n\t\t%s\n\t\tserve\n\t}\n\n\tminimum runtime = 10\n\truns = %d\n",
		target, count, j.file, state, j.program, j.program, j.runs)
	if j.pid != 0 {
		text += fmt.Sprintf("\tpid = %d\n", j.pid)
	}
	if j.ended == "" {
		text += "\tlast exit code = (never exited)\n"
	}
	text += j.ended + "\n\tresource coalition = {\n\t\tstate = active\n\t\tpid = 1\n\t}\n\n"
	words := []string{"inferred program"}
	if j.load {
		words = append([]string{"runatload"}, words...)
	}
	if j.keep {
		words = append([]string{"keepalive"}, words...)
	}
	return text + "\tproperties = " + strings.Join(words, " | ") + "\n}\n"
}

// kickstart waits for the end of the job, as launchctl does.
func (m *fake) kickstart(ctx context.Context, target string, limit time.Duration) (sysexec.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j := m.jobs[target]
	switch {
	case j == nil:
		return m.missing(target), nil
	case !m.root && strings.HasPrefix(target, "system/"):
		return refusal(target, "1: Operation not permitted"), nil
	case j.refuses != "":
		return refusal(target, j.refuses), nil
	}
	m.now(j)
	if j.pid != 0 && j.stops > 0 {
		m.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		select {
		case <-time.After(j.stops):
		case <-ctx.Done():
		}
		m.mu.Lock()
		if ctx.Err() != nil {
			return sysexec.Result{}, ctx.Err()
		}
	}
	m.spawn(j, time.Now())
	return sysexec.Result{}, nil
}

func refusal(target, why string) sysexec.Result {
	var code int
	fmt.Sscanf(why, "%d:", &code)
	label := target[strings.LastIndexByte(target, '/')+1:]
	return sysexec.Result{Exit: code, Stderr: []byte(fmt.Sprintf("Could not kickstart service %q: %s\n", label, why))}
}

// asked counts the commands that begin so.
func (m *fake) asked(prefix string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, call := range m.calls {
		if strings.HasPrefix(call, prefix) {
			n++
		}
	}
	return n
}
