// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// What makes a container one that is not well.
const (
	// flapping is how many restarts are one too many while the last is younger than settled.
	flapping = 3
	settled  = 10 * time.Minute
	// nearLimit is the share of a limit from which it is told.
	nearLimit = 0.9
	// throttled is the share of its life that it waited for the processor, from which it is told.
	throttled = 0.25
)

// A Container is one row of the answer.
type Container struct {
	Engine string `json:"engine" enum:"docker,podman,nspawn,lxc"`                                      // that runs it
	User   string `json:"user,omitempty"`                                                              // whose engine it is; absent for that of the system
	ID     string `json:"id,omitempty"`                                                                // the first 12 digits
	Name   string `json:"name"`                                                                        // as the engine has it
	State  State  `json:"state" enum:"running,restarting,paused,created,exited,removing,dead,unknown"` // what it is doing
	// Problem says what is wrong, in a sentence; absent where nothing is.
	Problem string `json:"problem,omitempty"`
	Health  string `json:"health,omitempty"` // of its own check: healthy, unhealthy or starting; absent without one
	// Since is when it was started, or when its last run ended; RFC 3339.
	Since         string `json:"since,omitempty"`
	Restarts      *int   `json:"restarts,omitempty"`       // by the engine, because a run had ended
	RestartPolicy string `json:"restart_policy,omitempty"` // no, on-failure, always or unless-stopped
	LastExit      string `json:"last_exit,omitempty"`      // how its last run ended, in words
	Image         string `json:"image,omitempty"`          // that it was made from
	ImageAgeDays  *int   `json:"image_age_days,omitempty"` // since the image was made
	Ports         []Port `json:"ports,omitempty"`          // that it publishes
	Privileged    bool   `json:"privileged,omitempty"`     // it has all rights of root on this machine
	PID           int    `json:"pid,omitempty"`            // of its first process; absent where it does not run or is not told
	Use
}

// Owner names the engine, and whose it is where it is not that of the system.
func (c Container) Owner() string {
	if c.User == "" {
		return c.Engine
	}
	return c.Engine + " of " + c.User
}

// describe judges one container and makes its texts safe to show.
func describe(f Facts, now time.Time) Container {
	c := Container{
		Engine: f.Engine, User: sanitize.Text(f.User, 40), ID: sanitize.Text(f.ID[:min(12, len(f.ID))], 12), Name: sanitize.Text(f.Name, 80), State: f.State,
		Health: sanitize.Text(f.Health, 20), Restarts: f.Restarts, RestartPolicy: sanitize.Text(f.Policy, 20), Image: sanitize.Text(f.Image, 120),
		Privileged: f.Privileged && f.User == "", PID: f.PID, Use: f.Use, LastExit: lastExit(f), Since: stamp(since(f)), ImageAgeDays: ageDays(f.ImageAt, now),
	}
	for _, p := range f.Ports {
		c.Ports = append(c.Ports, Port{Address: sanitize.Text(p.Address, 64), Container: sanitize.Text(p.Container, 20), Exposed: p.Exposed})
	}
	c.Problem = problem(f, now)
	return c
}

// Bounds of a row where there is no room for all.
const (
	maxRow      = 800 // bytes of JSON
	fewestPorts = 2
)

// shorten leaves out ports and the ends of the longest texts, which the users of containers choose.
func (c *Container) shorten() {
	for len(c.Ports) > fewestPorts && answer.Size(c) > maxRow {
		c.Ports = c.Ports[:len(c.Ports)-1]
	}
	texts := []*string{&c.Name, &c.Image, &c.Problem, &c.LastExit}
	for i := range c.Ports {
		texts = append(texts, &c.Ports[i].Address, &c.Ports[i].Container)
	}
	answer.Shorten(c, maxRow, texts...)
}

// problem says what is wrong with a container; "" for nothing.
func problem(f Facts, now time.Time) string {
	switch {
	case f.State == Restarting:
		return "It ends again and again: " + times(f.Restarts) + ending(f) + "."
	case f.State == Dead:
		return "It ended and could not be removed" + told(f.Error) + "."
	case f.State == Paused:
		return "It is paused: its processes do nothing until it is continued."
	case f.State == Created && f.Error != "":
		return "It could not be started" + told(f.Error) + "."
	case f.State == Exited:
		return endProblem(f)
	case f.State != Running:
		return ""
	case f.Health == "unhealthy":
		return "Its check of health fails" + told(f.Probe) + "."
	case f.Restarts != nil && *f.Restarts >= flapping && now.Sub(f.Started) < settled:
		return "It was restarted " + humanize.Count(*f.Restarts, "time", "times") + ", and runs for " + now.Sub(f.Started).Round(time.Second).String() + " since the last: " + ending(f) + "."
	default:
		return limitProblem(f.Use, now.Sub(f.Started))
	}
}

// endProblem is about a container that does not run. One that somebody stopped is well: Docker
// ends it with SIGTERM, and with SIGKILL where that does not help.
func endProblem(f Facts) string {
	stopped := f.Exit == nil || *f.Exit == 0 || *f.Exit == 128+int(syscall.SIGTERM) || *f.Exit == 128+int(syscall.SIGKILL)
	switch {
	case f.Error != "":
		return "It could not be started" + told(f.Error) + "."
	case f.OOM:
		return "It ended for want of memory" + ofLimit(f.Use) + "."
	case stopped:
		return ""
	case f.Policy == "on-failure" && f.Restarts != nil && *f.Restarts > 0:
		return "It was given up after " + humanize.Count(*f.Restarts, "restart", "restarts") + ": " + ending(f) + "."
	default:
		return "It ended by itself: " + ending(f) + "."
	}
}

// limitProblem names a limit that is nearly reached.
func limitProblem(u Use, life time.Duration) string {
	switch {
	case u.MemoryBytes != nil && u.MemoryLimitBytes != nil && float64(*u.MemoryBytes) >= nearLimit*float64(*u.MemoryLimitBytes):
		return "It uses " + humanize.Bytes(*u.MemoryBytes) + " of the " + humanize.Bytes(*u.MemoryLimitBytes) + " of memory that it may have."
	case u.Tasks != nil && u.TaskLimit != nil && float64(*u.Tasks) >= nearLimit*float64(*u.TaskLimit):
		return fmt.Sprintf("It has %d of the %d processes and threads that it may have.", *u.Tasks, *u.TaskLimit)
	case u.CPUThrottledSeconds != nil && life > 0 && *u.CPUThrottledSeconds >= throttled*life.Seconds():
		return fmt.Sprintf("It waits for the processor: for %s since it started it wanted more than the %s that it may use.", time.Duration(*u.CPUThrottledSeconds*float64(time.Second)).Round(time.Second), humanize.Processors(u.CPULimit))
	default:
		return ""
	}
}

func ofLimit(u Use) string {
	if u.MemoryLimitBytes == nil {
		return ""
	}
	return ", of which it may have " + humanize.Bytes(*u.MemoryLimitBytes)
}

func times(n *int) string {
	if n == nil {
		return ""
	}
	return humanize.Count(*n, "restart", "restarts") + ", "
}

// ending is how the last run ended, for the middle of a sentence.
func ending(f Facts) string {
	switch {
	case f.OOM:
		return "killed for want of memory" + ofLimit(f.Use)
	case f.Error != "":
		return quoted(f.Error)
	default:
		return cmp.Or(lastExit(f), "how its last run ended is not told")
	}
}

// lastExit says how the last run ended; 128 and more is a signal, by the habit of shells that
// engines follow.
func lastExit(f Facts) string {
	switch {
	case f.OOM:
		return "killed for want of memory"
	case f.Exit == nil:
		return ""
	case *f.Exit > 128 && *f.Exit <= 128+64:
		return fmt.Sprintf("ended by signal %d (%s)", *f.Exit-128, syscall.Signal(*f.Exit-128))
	default:
		return fmt.Sprintf("exit status %d", *f.Exit)
	}
}

func told(text string) string {
	if text == "" {
		return ""
	}
	return ": " + quoted(text)
}

// quoted is what others wrote, for the middle of a sentence: an engine, or a program in the container.
func quoted(text string) string {
	return strconv.Quote(sanitize.Reason(strings.TrimSpace(text), 160))
}

func since(f Facts) time.Time {
	if f.State == Running || f.State == Paused || f.Ended.IsZero() {
		return f.Started
	}
	return f.Ended
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// ageDays is how old an image is. One from the future, or from before there were containers, has
// no date: builds that can be repeated set it to a fixed one.
func ageDays(at, now time.Time) *int {
	if at.Year() < 2013 || at.After(now) {
		return nil
	}
	days := int(math.Floor(now.Sub(at).Hours() / 24))
	return &days
}

// worstFirst sorts those that are not well first, then those that run, then the latest.
func worstFirst(a, b Container) int {
	return cmp.Or(answer.TrueFirst(a.Problem != "", b.Problem != ""), answer.TrueFirst(a.State == Running, b.State == Running), cmp.Compare(b.Since, a.Since), cmp.Compare(a.Name, b.Name))
}
