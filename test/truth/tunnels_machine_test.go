// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tunnelModules are the kernel modules of the tunnels, which the kernel of a test machine need not
// have, and those that list sockets.
var tunnelModules = []string{"wireguard", "ip_gre", "ipip", "geneve", "vxlan", "dummy", "8021q", "xfrm_user", "xfrm_interface", "tcp_diag", "udp_diag"}

// tunnelInit is the first process of the machine.
const tunnelInit = `#!/bin/sh
export PATH=/bin
mount -t proc proc /proc
while read -r module; do insmod "$module"; done </modules
` + roleVar + `=tunnels /bin/truth
echo "== done"
poweroff -f
`

// What carries packets, with the tunnels of a stock kernel of Debian.
func TestTunnelsOfAStockKernel(t *testing.T) {
	kernel := needGuest(t)
	root := t.TempDir()
	for _, dir := range []string{"bin", "dev", "proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyInto(t, root, "busybox", "/bin/busybox")
	copyInto(t, root, os.Args[0], "/bin/truth")
	for _, name := range []string{"sh", "mount", "insmod", "poweroff", "echo"} {
		if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	copyModules(t, root, kernel, tunnelModules...)
	write(t, filepath.Join(root, "init"), tunnelInit)
	if err := os.Chmod(filepath.Join(root, "init"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := boot(t, kernel, pack(t, root), "-append", "console=ttyS0 quiet panic=-1")
	const want = `10.8.0.2: wg0 wireguard [192.0.2.9] [udp/51820]
10.8.7.9: wg0 wireguard [2001:db8::9] [udp/51820]
10.8.6.9: wg0 wireguard [] [udp/51820], the other end of the tunnel wg0 is not known
10.1.0.2: g1 gre [192.0.2.9] [gre/0]
10.2.0.2: gt1 gretap [192.0.2.8] [gre/0]
10.3.0.2: ip1 ipip [192.0.2.7] [ipencap/0]
10.4.0.2: gn1 geneve [192.0.2.6] [udp/6081]
10.5.0.2: vx1 vxlan [10.8.7.7] [udp/4789]; wg0 wireguard [2001:db8::9] [udp/51820]
10.6.0.2: gn1 geneve [192.0.2.6] [udp/6081]
10.7.0.2: ipsec ipsec [192.0.2.5] [esp/0]
192.0.2.50: nothing
`
	if diff := cmp.Diff(want, string(section(t, out, "tunnels"))+"\n"); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}
