// SPDX-License-Identifier: Apache-2.0

package virt

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sentinel/internal/testenv"
)

func TestContainersAreKnownByTheirMarks(t *testing.T) {
	for _, c := range []struct {
		name, want string
		files      map[string]string
	}{
		{"a host", "", map[string]string{"proc/1/cgroup": "0::/init.scope\n", "proc/1/environ": "HOME=/\x00TERM=linux\x00"}},
		{"docker", "docker", map[string]string{".dockerenv": "", "proc/1/cgroup": "0::/\n"}},
		{"docker, cgroup v1", "docker", map[string]string{"proc/1/cgroup": "5:cpu:/docker/0123\n"}},
		{"docker below systemd", "docker", map[string]string{"proc/1/cgroup": "0::/system.slice/docker-0123.scope\n"}},
		{"podman", "podman", map[string]string{"run/.containerenv": "", ".dockerenv": ""}},
		{"podman without its file", "podman", map[string]string{"proc/1/cgroup": "0::/machine.slice/libpod-0123.scope\n"}},
		{"nspawn", "systemd-nspawn", map[string]string{"run/systemd/container": "systemd-nspawn\n"}},
		{"lxc", "lxc", map[string]string{"proc/1/environ": "a=b\x00container=lxc\x00"}},
		{"lxc of libvirt", "lxc", map[string]string{"run/systemd/container": "lxc-libvirt"}},
		{"lxc by its group", "lxc", map[string]string{"proc/1/cgroup": "0::/lxc.payload.a/init.scope\n"}},
		{"the manager's file", "podman", map[string]string{"run/host/container-manager": "podman\n"}},
		{"kubernetes by its group", "kubernetes", map[string]string{"proc/1/cgroup": "0::/kubepods.slice/x\n", ".dockerenv": ""}},
		{"kubernetes by its secrets", "kubernetes", map[string]string{"run/secrets/kubernetes.io/serviceaccount/": ""}},
		{"kubernetes where /var/run is no link", "kubernetes", map[string]string{"var/run/secrets/kubernetes.io/serviceaccount/": ""}},
		{"WSL 2", "wsl", map[string]string{"proc/sys/kernel/osrelease": "5.15.0-microsoft-standard-WSL2\n"}},
		{"WSL 1", "wsl", map[string]string{"proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft\n"}},
		{"a kernel for Azure", "", map[string]string{"proc/sys/kernel/osrelease": "6.8.0-1030-azure\n"}},
		{"a variable that only ends so", "", map[string]string{"proc/1/environ": "mycontainer=lxc\x00"}},
		{"nothing at all", "", nil},
	} {
		if got := Container(testenv.Plant(t, c.files)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// An image of a container that was made into the disk of a machine keeps its mark.
func TestAMarkDoesNotMakeAMachineAContainer(t *testing.T) {
	for _, c := range []struct{ namespace, groups, want string }{
		{initialGroups, "1:cpu:/\n0::/\n", ""},
		{initialGroups, "2:memory:/limited\n1:name=systemd:/\n0::/\n", ""},
		{initialGroups, "1:name=systemd:/docker/0123\n0::/\n", "docker"},
		{initialGroups, "1:name=systemd:/\n0::/system.slice/containerd.service\n", "docker"},
		{initialGroups, "0::/system.slice/other.scope\n", "docker"},
		{initialGroups, "", "docker"},
		{"cgroup:[4026532000]", "0::/\n", "docker"},
		{"", "0::/\n", "docker"},
	} {
		root := testenv.Plant(t, map[string]string{".dockerenv": "", "proc/1/cgroup": c.groups, "proc/self/ns/": ""})
		if c.namespace != "" {
			if err := os.Symlink(c.namespace, filepath.Join(root, "proc/self/ns/cgroup")); err != nil {
				t.Fatal(err)
			}
		}
		if got := Container(root); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestHypervisorsAreKnownByTheirMarks(t *testing.T) {
	const clock = "sys/devices/system/clocksource/clocksource0/available_clocksource"
	const dsdt = "sys/firmware/acpi/tables/DSDT"
	for _, c := range []struct {
		name, want string
		marks      Hints
		files      map[string]string
		wantErr    error
	}{
		{name: "hardware", marks: Hints{Vendor: "Dell Inc.", Product: "PowerEdge R640"}, files: map[string]string{clock: "tsc hpet acpi_pm"}},
		{name: "QEMU", want: "qemu", marks: Hints{Vendor: "QEMU", Product: "Standard PC (Q35 + ICH9, 2009)", Virtual: true}},
		{name: "QEMU made to look like another", want: "qemu", marks: Hints{Vendor: "Example", Product: "Station", Chassis: "QEMU"}},
		{name: "KVM named in the product", want: "kvm", marks: Hints{Vendor: "Red Hat", Product: "KVM"}},
		{name: "Amazon", want: "kvm", marks: Hints{Vendor: "Amazon EC2", Product: "m5.large", Virtual: true}},
		{name: "Amazon without hypervisor", marks: Hints{Vendor: "Amazon EC2", Product: "m5.metal"}},
		{name: "VMware", want: "vmware", marks: Hints{Vendor: "VMware, Inc.", Product: "VMware Virtual Platform"}},
		{name: "VirtualBox", want: "virtualbox", marks: Hints{Vendor: "innotek GmbH", Product: "VirtualBox"}},
		{name: "Hyper-V", want: "hyperv", marks: Hints{Vendor: "Microsoft Corporation", Product: "Virtual Machine"}},
		{name: "a Surface", marks: Hints{Vendor: "Microsoft Corporation", Product: "Surface Pro"}},
		{name: "Xen", want: "xen", files: map[string]string{"sys/hypervisor/type": "xen\n"}, marks: Hints{Vendor: "Xen", Virtual: true}},
		{
			name: "Xen's first domain", marks: Hints{Vendor: "Dell Inc.", Virtual: true},
			files: map[string]string{"sys/hypervisor/type": "xen\n", "proc/xen/capabilities": "control_d\n"},
		},
		{name: "Firecracker", want: "firecracker", marks: Hints{Virtual: true}, files: map[string]string{dsdt: "DSDT\x00\x01\x00\x00\x02\x7fFIRECKFC"}},
		{name: "another maker's table", files: map[string]string{dsdt: "DSDT\x00\x01\x00\x00\x02\x7fEXAMPLEX"}},
		{name: "microVM by its clock", want: "kvm", marks: Hints{Virtual: true}, files: map[string]string{clock: "kvm-clock tsc\n"}},
		{name: "Hyper-V by its clock", want: "hyperv", marks: Hints{Virtual: true}, files: map[string]string{clock: "hyperv_clocksource_tsc_page"}},
		{name: "Xen by its clock", want: "xen", files: map[string]string{clock: "xen tsc"}},
		{name: "64-bit ARM under KVM", want: "kvm", marks: Hints{HypervisorNode: "linux,kvm"}},
		{name: "ARM board of QEMU", want: "qemu", marks: Hints{Compatible: "linux,dummy-virt"}},
		{name: "no name", wantErr: ErrUnnamed, marks: Hints{Virtual: true}},
	} {
		got, err := Hypervisor(testenv.Plant(t, c.files), c.marks)
		if got != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func FuzzMarksInFiles(f *testing.F) {
	f.Add([]byte("a=b\x00container=lxc\x00"))
	f.Add([]byte("0::/kubepods.slice/x\nDSDT"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if name := fromEnvironment(b); len(name) > len(b) {
			t.Errorf("%q from %q", name, b)
		}
		if id := oemID(b); len(id) != 0 && len(id) != 6 {
			t.Errorf("maker %q from %q", id, b)
		}
		cgroupManager(b)
	})
}
