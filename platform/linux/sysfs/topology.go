// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"

	"sentinel/platform/unix/hostfile"
)

// maxCPUs bounds a list of processors; the kernel's own bound is 8192.
const maxCPUs = 8192

// errCPUList reports content that is not a list of processors.
var errCPUList = errors.New("unexpected format of a processor list")

// A Topology counts the processors that are online. A count that the kernel
// does not give is 0.
type Topology struct {
	Logical  int // hardware threads
	Physical int // cores
	Sockets  int // packages
}

// ReadTopology reads /sys/devices/system/cpu. It fails only if the list of online processors cannot
// be read.
func ReadTopology(root string) (Topology, error) {
	dir := filepath.Join(root, "sys/devices/system/cpu")
	raw, err := hostfile.Read(dir+"/online", 64<<10)
	if err != nil {
		return Topology{}, err
	}
	online, err := parseCPUList(raw)
	if err != nil {
		return Topology{}, err
	}
	return Topology{
		Logical:  len(online),
		Physical: countGroups(dir, online, "core_cpus_list", "thread_siblings_list"),
		Sockets:  countGroups(dir, online, "package_cpus_list", "core_siblings_list"),
	}, nil
}

// countGroups counts the sets of processors that share something. Each file lists its whole set, so
// one read covers all of its members. Kernels before 5.2 use the name older. 0 means that the set
// of a processor could not be read.
func countGroups(dir string, online []int, name, older string) int {
	settled := make(map[int]bool, len(online))
	groups := 0
	for _, cpu := range online {
		if settled[cpu] {
			continue
		}
		members := siblings(dir, cpu, name, older)
		if len(members) == 0 {
			return 0
		}
		for _, member := range members {
			settled[member] = true
		}
		settled[cpu] = true
		groups++
	}
	return groups
}

func siblings(dir string, cpu int, name, older string) []int {
	topology := dir + "/cpu" + strconv.Itoa(cpu) + "/topology/"
	raw, err := hostfile.Read(topology+name, 64<<10)
	if err != nil {
		raw, err = hostfile.Read(topology+older, 64<<10)
	}
	if err != nil {
		return nil
	}
	members, err := parseCPUList(raw)
	if err != nil {
		return nil
	}
	return members
}

// parseCPUList reads the list format of the kernel: "0-3,8,10-11".
func parseCPUList(b []byte) ([]int, error) {
	list := []int{}
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return nil, errCPUList
	}
	for part := range bytes.SplitSeq(b, []byte(",")) {
		first, last, isRange := bytes.Cut(part, []byte("-"))
		from, ok := cpuNumber(first)
		to := from
		if isRange && ok {
			to, ok = cpuNumber(last)
		}
		if !ok || to < from || len(list)+to-from >= maxCPUs {
			return nil, errCPUList
		}
		for cpu := from; cpu <= to; cpu++ {
			list = append(list, cpu)
		}
	}
	return list, nil
}

func cpuNumber(b []byte) (int, bool) {
	n, err := strconv.ParseUint(string(b), 10, 16)
	return int(n), err == nil && n < maxCPUs
}
