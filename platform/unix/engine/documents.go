// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sentinel/internal/containers"
)

// A row is one container in the list of an engine.
type row struct {
	ID    string `json:"Id"`
	Names []string
	Image string
	State string
}

func (r row) facts(engine string) containers.Facts {
	name := ""
	if len(r.Names) > 0 {
		name = strings.TrimPrefix(r.Names[0], "/")
	}
	return containers.Facts{Engine: engine, ID: r.ID, Name: cmp.Or(name, r.ID), Image: r.Image, State: state(r.State)}
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
			Log    []struct{ Output string }
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
		Ports map[string][]struct{ HostIP, HostPort string }
	}
}

// into adds the details to what the list told.
func (d detail) into(f *containers.Facts) {
	s := d.State
	f.State = state(s.Status)
	f.Started, f.Ended = moment(s.StartedAt), moment(s.FinishedAt)
	f.Error, f.OOM, f.PID = s.Error, s.OOMKilled, s.Pid
	if !f.Ended.IsZero() && f.State != containers.Running && f.State != containers.Paused {
		f.Exit = &s.ExitCode // while it runs, 0 stands there
	}
	if s.Health != nil && s.Health.Status != "none" {
		f.Health = s.Health.Status
		if n := len(s.Health.Log); n > 0 {
			f.Probe = s.Health.Log[n-1].Output
		}
	}
	f.Restarts, f.Policy, f.Privileged = d.RestartCount, cmp.Or(d.HostConfig.RestartPolicy.Name, "no"), d.HostConfig.Privileged
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

// ports lists what is published, the same for IPv4 and IPv6 once.
func (d detail) ports() []containers.Port {
	var list []containers.Port
	for inside, published := range d.NetworkSettings.Ports {
		for _, p := range published {
			address, err := netip.ParseAddr(cmp.Or(p.HostIP, "0.0.0.0"))
			if err != nil || address == netip.IPv6Unspecified() && len(published) > 1 {
				continue
			}
			list = append(list, containers.Port{Address: net.JoinHostPort(address.String(), p.HostPort), Container: inside, Exposed: !address.IsLoopback()})
		}
	}
	slices.SortFunc(list, func(a, b containers.Port) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Address, b.Address))
	})
	return list[:min(maxPorts, len(list))]
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
