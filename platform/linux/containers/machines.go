// SPDX-License-Identifier: Apache-2.0

//go:build linux

package containers

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/platform/unix/hostfile"
)

// Bounds of what is read of containers without an engine.
const (
	maxMachines = 200
	maxMachine  = 16 << 10 // bytes of one file
)

// machines lists the containers that systemd-machined knows: a file of assignments each
// (src/machine/machine.c of systemd, machine_save).
func (s Source) machines(gaps *answer.Gaps) []containers.Facts {
	dir := filepath.Join(string(s), "run", "systemd", "machines")
	names, err := hostfile.Names(dir, maxMachines)
	if err != nil && !hostfile.Missing(err) {
		gaps.Add("containers.nspawn", err)
	}
	var list []containers.Facts
	for _, name := range names {
		if strings.HasPrefix(name, ".") || strings.Contains(name, ":") { // the host itself, and links by unit
			continue
		}
		raw, err := hostfile.Read(filepath.Join(dir, name), maxMachine)
		if err != nil {
			gaps.Add("containers."+name, err)
			continue
		}
		if f, ok := machine(raw); ok {
			list = append(list, f)
		}
	}
	return list
}

// machine reads one file of systemd-machined; virtual machines are no containers.
func machine(raw []byte) (containers.Facts, bool) {
	values := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"`)
		}
	}
	pid, err := strconv.Atoi(values["LEADER"])
	if values["CLASS"] != "container" || values["NAME"] == "" || err != nil || pid <= 0 {
		return containers.Facts{}, false
	}
	f := containers.Facts{Engine: "nspawn", Name: values["NAME"], State: containers.Running, PID: pid}
	if usec, err := strconv.ParseInt(values["REALTIME"], 10, 64); err == nil && usec > 0 {
		f.Started = time.UnixMicro(usec)
	}
	switch service := values["SERVICE"]; service {
	case "systemd-nspawn", "":
	case "libvirt-lxc", "lxc":
		f.Engine = "lxc"
	default:
		return containers.Facts{}, false // of an engine that is asked itself, or whose it is not known
	}
	return f, true
}

// lxc lists the containers of LXC that are configured; those that run have a control group of their
// own (lxc.container.conf(5), lxc.cgroup.dir).
func (s Source) lxc(gaps *answer.Gaps) []containers.Facts {
	dir := filepath.Join(string(s), "var", "lib", "lxc")
	names, err := hostfile.Names(dir, maxMachines)
	if err != nil && !hostfile.Missing(err) {
		gaps.Add("containers.lxc", err)
	}
	var list []containers.Facts
	for _, name := range names {
		if !hostfile.Exists(filepath.Join(dir, name, "config")) {
			continue
		}
		f := containers.Facts{Engine: "lxc", Name: name, State: containers.Exited}
		if pid := s.firstOf(name); pid > 0 {
			f.State, f.PID = containers.Running, pid
		}
		list = append(list, f)
	}
	return list
}

// firstOf finds the process of a container of LXC that started first, by its control group.
func (s Source) firstOf(name string) int {
	for _, group := range []string{"lxc.payload." + name, filepath.Join("lxc.payload", name), filepath.Join("lxc", name)} {
		for _, at := range []string{group, filepath.Join(group, "init.scope"), filepath.Join("memory", group)} { // the last one of control groups v1
			raw, err := hostfile.Read(filepath.Join(string(s), "sys", "fs", "cgroup", at, "cgroup.procs"), maxMachine)
			first, _, _ := strings.Cut(string(raw), "\n")
			if pid, bad := strconv.Atoi(first); cmp.Or(err, bad) == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}
