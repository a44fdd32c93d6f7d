// SPDX-License-Identifier: Apache-2.0

// Package containers tells how the containers of this machine are doing: which run, which end again
// and again and why, and how near they are to their limits.
package containers

import (
	"context"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/answer"
)

// DefaultRows is how many containers an answer shows.
const DefaultRows = 20

// A State is what a container is doing, in the words of Docker.
type State string

// The states.
const (
	Running    State = "running"
	Restarting State = "restarting" // ended, and waits to be started again
	Paused     State = "paused"
	Created    State = "created" // never started
	Exited     State = "exited"
	Removing   State = "removing"
	Dead       State = "dead" // ended, and could not be cleaned up
	Unknown    State = "unknown"
)

// Facts are what an engine or the system tells of one container. Texts are as they were read.
type Facts struct {
	Engine  string // "docker", "podman", "nspawn", "lxc"
	User    string // whose engine it is; empty for that of the system
	ID      string
	Name    string
	Image   string
	ImageAt time.Time // when the image was made; zero is unknown
	State   State
	Health  string // "healthy", "unhealthy", "starting"; empty without a check
	Probe   string // what the last check of health printed
	Started time.Time
	Ended   time.Time // of the last run; zero while the first one lasts
	Error   string    // why the engine could not start it
	OOM     bool      // its last run was ended for want of memory
	Policy  string    // "no", "on-failure", "always", "unless-stopped"; empty is unknown
	Exit    *int      // status of the last run; nil while it runs and where it is not told
	// Restarts counts those that the engine made because a run had ended; nil is unknown.
	Restarts   *int
	Ports      []Port
	Privileged bool
	PID        int // of its first process, as this machine has it; 0 is unknown
	Use        Use
}

// A Port of a container that others can connect to.
type Port struct {
	Address   string `json:"address"`        // of this machine, and port, at which it is published
	Container string `json:"container_port"` // inside of the container, with the protocol: "80/tcp"
	// Exposed says that the address is not loopback, so that other hosts can reach it unless a
	// firewall prevents it.
	Exposed bool `json:"exposed"`
}

// Use is what a container takes, against its limits. Zero values are unknown, limits none.
type Use struct {
	MemoryBytes      *uint64 `json:"memory_bytes,omitempty"`       // that it uses, without the file cache that can be dropped
	MemoryLimitBytes *uint64 `json:"memory_limit_bytes,omitempty"` // absent without a limit
	CPULimit         float64 `json:"cpu_limit,omitempty"`          // processors that it may use; absent without a limit
	// CPUThrottledSeconds is how long it wanted more than its limit, since it started.
	CPUThrottledSeconds *float64 `json:"cpu_throttled_seconds,omitempty"`
	Tasks               *int     `json:"tasks,omitempty"`      // processes and threads
	TaskLimit           *int     `json:"task_limit,omitempty"` // absent without a limit
}

// An Engine is a program that runs containers, and answered.
type Engine struct {
	Name    string `json:"name"`           // "docker" or "podman"
	Version string `json:"version"`        // as it tells it
	User    string `json:"user,omitempty"` // whose engine it is; absent for that of the system
}

// A Source finds the containers.
type Source interface {
	// Containers lists the engines that answer and all containers. What could not be read is added
	// to gaps. An error means that nothing could be.
	Containers(ctx context.Context, gaps *answer.Gaps) ([]Engine, []Facts, error)
}

// A Report answers get_containers.
type Report struct {
	Engines         []Engine    `json:"engines"`          // that answered
	Containers      []Container `json:"containers"`       // those that are not well first
	ContainersTotal int         `json:"containers_total"` // before the list was cut
	RunningTotal    int         `json:"running_total"`    // of all
	NotWellTotal    int         `json:"not_well_total"`   // of all
	Truncated       bool        `json:"truncated"`        // containers does not show all
	Unavailable     answer.Gaps `json:"unavailable"`      // what could not be read, and why
}

// Look lists the containers, at most rows of them; 0 means all.
func Look(ctx context.Context, source Source, now time.Time, rows int) (Report, error) {
	gaps := answer.Gaps{}
	engines, list, err := source.Containers(ctx, &gaps)
	if err != nil {
		return Report{}, err
	}
	r := Report{Engines: engines, Containers: []Container{}, ContainersTotal: len(list), Unavailable: gaps}
	if r.Engines == nil {
		r.Engines = []Engine{}
	}
	for _, f := range list {
		c := describe(f, now)
		r.Containers = append(r.Containers, c)
		if c.State == Running {
			r.RunningTotal++
		}
		if c.Problem != "" {
			r.NotWellTotal++
		}
	}
	slices.SortStableFunc(r.Containers, worstFirst)
	if rows > 0 && rows < len(r.Containers) {
		r.Cut(rows)
	}
	return r, nil
}

// Fit leaves so much that the report has at most size bytes of JSON: rows that are no longer than others, and of
// those, and of the engines, the shares of their users.
func (r *Report) Fit(size int) {
	if answer.Size(r) <= size {
		return
	}
	r.fitEngines(size / 4)
	list := r.Containers
	r.Containers, r.Truncated = []Container{}, true
	r.Containers, _ = answer.ShareRoom(list, len(list), size-answer.Size(r), func(c Container) string { return c.User }, (*Container).shorten)
}

func (r *Report) fitEngines(size int) {
	var rest []Engine
	r.Engines, rest = answer.ShareRoom(r.Engines, len(r.Engines), size, func(e Engine) string { return e.User }, func(*Engine) {})
	if len(rest) > 0 {
		r.Unavailable.Note("engines", "more answered than are named: "+strconv.Itoa(len(rest)))
	}
}

// Cut leaves rows containers. A user with any number of containers, or with a program that tells of some,
// takes the places of nobody else's.
func (r *Report) Cut(rows int) {
	r.Containers, _ = answer.Share(r.Containers, rows, func(c Container) string { return c.User })
	r.Truncated = true
}
