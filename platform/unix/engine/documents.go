// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sentinel/internal/containers"
)

// A row is one container in the list of an engine.
type row struct {
	ID    string `json:"Id"`
	Names first[string]
	Image string
	State string
}

func (r row) facts(engine string) containers.Facts {
	name := ""
	if len(r.Names.kept) > 0 {
		name = strings.TrimPrefix(r.Names.kept[0], "/")
	}
	return containers.Facts{Engine: engine, ID: clip(r.ID, maxText), Name: clip(cmp.Or(name, r.ID), maxText), Image: clip(r.Image, maxText), State: state(r.State)}
}

// A detail is what an engine tells of one container.
type detail struct {
	Image        string // its digest
	RestartCount *int
	State        struct {
		Status     string
		OOMKilled  bool
		Pid        int
		ExitCode   int
		Error      string
		StartedAt  string
		FinishedAt string
		Health     *struct {
			Status string
			Log    lastOutput
		}
	}
	HostConfig struct {
		Privileged    bool
		RestartPolicy struct{ Name string }
		Memory        int64
		NanoCpus      int64
		CPUQuota      int64 `json:"CpuQuota"`
		CPUPeriod     int64 `json:"CpuPeriod"`
		PidsLimit     *int64
	}
	NetworkSettings struct {
		Ports publishedPorts
	}
}

// into adds the details to what the list told.
func (d detail) into(f *containers.Facts) {
	s := d.State
	f.State = state(s.Status)
	f.Started, f.Ended = moment(s.StartedAt), moment(s.FinishedAt)
	f.Error, f.OOM, f.PID = clip(s.Error, maxText), s.OOMKilled, s.Pid
	if !f.Ended.IsZero() && f.State != containers.Running && f.State != containers.Paused {
		f.Exit = &s.ExitCode // while it runs, 0 stands there
	}
	if s.Health != nil && s.Health.Status != "none" {
		f.Health, f.Probe = clip(s.Health.Status, maxWord), clip(string(s.Health.Log), maxText)
	}
	f.Restarts, f.Policy, f.Privileged = d.RestartCount, cmp.Or(clip(d.HostConfig.RestartPolicy.Name, maxWord), "no"), d.HostConfig.Privileged
	f.Ports = d.ports()
	f.Use = d.limits()
}

// limits are those that the engine was told; what is used is not known here.
func (d detail) limits() containers.Use {
	var u containers.Use
	h := d.HostConfig
	if h.Memory > 0 {
		u.MemoryLimitBytes = new(uint64(h.Memory))
	}
	switch {
	case h.NanoCpus > 0:
		u.CPULimit = float64(h.NanoCpus) / 1e9
	case h.CPUQuota > 0 && h.CPUPeriod > 0:
		u.CPULimit = float64(h.CPUQuota) / float64(h.CPUPeriod)
	}
	if h.PidsLimit != nil && *h.PidsLimit > 0 {
		u.TaskLimit = new(int(*h.PidsLimit))
	}
	return u
}

// ports lists what is published.
func (d detail) ports() []containers.Port {
	list := []containers.Port(d.NetworkSettings.Ports)
	slices.SortFunc(list, func(a, b containers.Port) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Address, b.Address))
	})
	return slices.Clone(list[:min(maxPorts, len(list))])
}

// maxPorts is how many ports of a container are listed.
const maxPorts = 20

// state translates the word of an engine; Podman has some of its own.
func state(word string) containers.State {
	switch s := containers.State(word); s {
	case containers.Running, containers.Restarting, containers.Paused, containers.Created, containers.Exited, containers.Removing, containers.Dead:
		return s
	case "configured", "initialized":
		return containers.Created
	case "stopped", "stopping":
		return containers.Exited
	default:
		return containers.Unknown
	}
}

// moment reads a time; the zero time of Go, which engines write for never, and junk are zero.
func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1971 {
		return time.Time{}
	}
	return t
}
