// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// heldMount mounts a file system of a user which another process holds too.
func heldMount(t *testing.T, uid int) (m deadfuse.Mount, pid int) {
	t.Helper()
	known := fuseFiles(t)
	m = deadfuse.New(t, uid)
	for _, name := range fuseFiles(t) {
		if slices.Contains(known, name) {
			continue
		}
		holder := exec.Command("sleep", "60")
		n, err := strconv.Atoi(name)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := unix.Dup(n)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(copied), "device")
		defer file.Close()
		holder.ExtraFiles = []*os.File{file}
		return m, run(t, holder)
	}
	t.Fatal("the device is not found")
	return m, 0
}

// fuseFiles lists the file descriptors of this process that are FUSE devices.
func fuseFiles(t *testing.T) (list []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && link == "/dev/fuse" {
			list = append(list, e.Name())
		}
	}
	return list
}

// The server of a file system that root has mounted is not ended; that of a user's is, and what goes
// with it is told.
func TestServersOfFileSystems(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	system, pid := heldMount(t, 0)
	_, err := processes.PlanTermination(t.Context(), NewTerminator("/"), processes.Target{PID: pid}, nil)
	if err == nil {
		t.Fatal("the server of a file system may be ended")
	}
	if f := fault.From(err); f.Code != fault.ProtectedProcess || !strings.Contains(f.Message, "it serves the file system mounted at "+strconv.Quote(system.Dir)) || !strings.Contains(f.Fix, "Unmount "+strconv.Quote(system.Dir)) {
		t.Errorf("%v, %s", err, f.Fix)
	}
	own, pid := heldMount(t, 1000)
	p := plan(t, processes.Target{PID: pid})
	if !slices.Equal(p.Subject().MountPoints, []string{own.Dir}) || !strings.Contains(p.Summary(), "It serves what is mounted at "+strconv.Quote(own.Dir)) {
		t.Errorf("%+v, %s", p.Subject(), p.Summary())
	}
	if done, err := p.Do(t.Context()); err != nil || !slices.Equal(done.MountPoints, []string{own.Dir}) {
		t.Errorf("%+v, %v", done, err)
	}
	if other := plan(t, processes.Target{PID: sleeper(t)}); other.Subject().MountPoints != nil {
		t.Errorf("one that serves nothing: %+v", other.Subject())
	}
}

// What a restart does as much harm to as an end: storage, tunnels, logins; and not what a container
// or a log depends on.
func TestEssentialProcesses(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	for name, want := range map[string]string{
		"multipathd": "the storage of this machine depends on it", "iscsid": "the storage of this machine depends on it",
		"zerotier-one": "it carries the packets of a VPN", "cloudflared": "it carries the packets of a VPN", "nebula": "it carries the packets of a VPN",
		"xrdp-sesman": "people log in through it", "bird": processes.WhyRouting, "watchfrr": processes.WhyRouting, "keepalived": processes.WhyRouting,
		"ovs-vswitchd": "the network of this machine", "hostapd": "the network of this machine", "automount": "", "dnsmasq": "", "dockerd": "", "rsyslogd": "", "nginx": "",
	} {
		path := filepath.Join(t.TempDir(), name)
		raw, err := os.ReadFile(testenv.Program(t, "sleep", "coreutils"))
		if err == nil {
			err = os.WriteFile(path, raw, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		pid := run(t, exec.Command(path, "60"))
		_, _, why, err := processes.Essential(t.Context(), NewTerminator("/"), []processes.Ending{{PID: pid, ComesBack: true}}, nil, nil)
		if err != nil || (why == "") != (want == "") || !strings.HasPrefix(why, want) {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
	if _, _, why, err := processes.Essential(t.Context(), NewTerminator("/"), []processes.Ending{{PID: 1 << 21}}, nil, nil); err != nil || why != "" {
		t.Errorf("one that is gone: %q, %v", why, err)
	}
}
