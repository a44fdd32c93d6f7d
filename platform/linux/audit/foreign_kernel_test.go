// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"strings"
	"testing"
)

// In a container root cannot write the settings of the kernel; what it has of its own is the network.
func TestFixesOfAContainerNameWhoCanApplyThem(t *testing.T) {
	kernel := map[string]string{
		"proc/sys/kernel/": "", "proc/sys/fs/protected_symlinks": "0\n", "proc/sys/fs/protected_fifos": "0\n",
		"proc/sys/net/ipv4/tcp_syncookies": "0\n", "sys/kernel/security/": "", "proc/filesystems": "",
	}
	const onHost = "This container cannot change it. On its host, "
	for id, c := range map[string]struct{ machine, container, wsl string }{
		"kernel.protected_links": {"Write fs.", onHost + "write fs.", "Write fs."},
		"kernel.protected_files": {"Write fs.", onHost + "write fs.", "Write fs."},
		"network.syncookies":     {"Write net.", "Write net.", "Write net."},
		"mac.enforcing":          {"Install AppArmor", onHost + "start AppArmor", "Install AppArmor"},
	} {
		for manager, want := range map[string]string{"": c.machine, "lxc\n": c.container, "wsl\n": c.wsl} {
			files := kernel
			if manager != "" {
				files = with(kernel, "run/systemd/container", manager)
			}
			if got := ask(t, id, files); !strings.HasPrefix(got.Fix, want) {
				t.Errorf("%s in %q: %+v, want the fix %q", id, manager, got, want)
			}
		}
	}
}
