// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func TestProcessorListsAreReadAsTheKernelWritesThem(t *testing.T) {
	for in, want := range map[string][]int{
		"0\n": {0}, "0-3\n": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7}, "8191": {8191},
	} {
		if got, err := parseCPUList([]byte(in)); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "\n", "a", "1-", "-1", "3-1", "0,,1", "8192", "0-8191,0", "99999999999999999999", "0-3 "[:3] + "x"} {
		if got, err := parseCPUList([]byte(in)); err == nil {
			t.Errorf("%q: accepted as %v", in, got)
		}
	}
}

// cpus creates a machine: core and pkg give each processor's siblings.
func cpus(t *testing.T, online string, core, pkg []string, coreFile, pkgFile string) string {
	t.Helper()
	files := map[string]string{"sys/devices/system/cpu/online": online + "\n"}
	for i := range core {
		dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", i)
		files[dir+coreFile] = core[i] + "\n"
		files[dir+pkgFile] = pkg[i] + "\n"
	}
	return testenv.Plant(t, files)
}

func TestTopologyCountsCoresAndSockets(t *testing.T) {
	const core, pkg, oldCore, oldPkg = "core_cpus_list", "package_cpus_list", "thread_siblings_list", "core_siblings_list"
	for _, c := range []struct {
		name string
		root string
		want Topology
	}{
		{
			"two threads a core, neighbours",
			cpus(t, "0-3", []string{"0-1", "0-1", "2-3", "2-3"}, []string{"0-3", "0-3", "0-3", "0-3"}, core, pkg),
			Topology{Logical: 4, Physical: 2, Sockets: 1},
		},
		{
			"two sockets, threads far apart",
			cpus(t, "0-3", []string{"0,2", "1,3", "0,2", "1,3"}, []string{"0,2", "1,3", "0,2", "1,3"}, core, pkg),
			Topology{Logical: 4, Physical: 2, Sockets: 2},
		},
		{
			"performance and efficiency cores",
			cpus(t, "0-3", []string{"0-1", "0-1", "2", "3"}, []string{"0-3", "0-3", "0-3", "0-3"}, core, pkg),
			Topology{Logical: 4, Physical: 3, Sockets: 1},
		},
		{
			"names of older kernels, one processor offline",
			cpus(t, "0,2", []string{"0", "", "2"}, []string{"0,2", "", "0,2"}, oldCore, oldPkg),
			Topology{Logical: 2, Physical: 2, Sockets: 1},
		},
		{
			"no topology",
			cpus(t, "0-7", nil, nil, core, pkg),
			Topology{Logical: 8},
		},
	} {
		got, err := ReadTopology(c.root)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	if _, err := ReadTopology(t.TempDir()); !hostfile.Missing(err) {
		t.Errorf("none: %v", err)
	}
	if _, err := ReadTopology(cpus(t, "x", nil, nil, core, pkg)); err == nil {
		t.Error("a damaged list of processors was accepted")
	}
}

func FuzzCPUList(f *testing.F) {
	f.Add([]byte("0-3,8,10-11\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseCPUList(b)
		if err == nil && (len(list) == 0 || len(list) > maxCPUs) {
			t.Errorf("%q gave %d processors", b, len(list))
		}
	})
}
