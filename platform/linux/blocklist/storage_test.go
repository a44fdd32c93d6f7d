// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// Who blocks the server of the homes locks everybody out who has one there. What a user has mounted
// with FUSE protects nothing.
func TestServersOfWhatIsMountedAreProtected(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"2 1 0:40 / /home rw - nfs4 files.example.org:/home rw,vers=4.2,clientaddr=192.0.2.10,local_lock=none,addr=192.0.2.20\n" +
			"3 1 0:41 / /old rw - nfs 192.0.2.21:/old rw,vers=3,mountaddr=192.0.2.22,addr=192.0.2.21\n" +
			"4 1 0:42 / /six rw - nfs4 [2001:db8::21]:/six rw,addr=2001:db8::21\n" +
			"5 1 0:43 / /share rw - cifs //nas/share rw,addr=192.0.2.23,username=x\n" +
			"6 1 0:44 / /pool rw - ceph 192.0.2.24:6789,192.0.2.25:6789:/ rw,name=admin\n" +
			"7 1 0:45 / /new rw - ceph admin@1234.fs=/ rw,mon_addr=192.0.2.26:3300/[2001:db8::26]:3300\n" +
			"8 1 0:46 / /home/eve/x rw - fuse.sshfs eve@203.0.113.1:/ rw,user_id=1000,addr=203.0.113.2\n",
		"sys/class/iscsi_connection/connection1:0/persistent_address": "192.0.2.30\n",
		"sys/class/iscsi_connection/connection1:0/address":            "192.0.2.31\n",
		"sys/class/nvme/nvme0/address":                                "0000:00:1f.0\n",
		"sys/class/nvme/nvme1/address":                                "traddr=192.0.2.32,trsvcid=4420,src_addr=192.0.2.10\n",
		"sys/class/nvme/nvme2/address":                                "traddr=2001:db8::32,trsvcid=4420\n",
	})
	list, err := NewHostContext(root).storage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, p := range list {
		found[p.Prefix.Addr().String()] = p.Why
	}
	at := func(point string) string { return `a server of the file system at "` + point + `"` }
	const iscsi, nvme = "the iSCSI server of a disk", "the NVMe server of a disk"
	want := map[string]string{
		"192.0.2.20": at("/home"), "192.0.2.21": at("/old"), "192.0.2.22": at("/old"), "2001:db8::21": at("/six"), "192.0.2.23": at("/share"),
		"192.0.2.24": at("/pool"), "192.0.2.25": at("/pool"), "192.0.2.26": at("/new"), "2001:db8::26": at("/new"),
		"192.0.2.30": iscsi, "192.0.2.31": iscsi, "192.0.2.32": nvme, "2001:db8::32": nvme,
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if list, err := NewHostContext(t.TempDir()).storage(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("without /proc: %v, %v", list, err)
	}
}

func TestServersOfConfigurationAreAmongWhatIsProtected(t *testing.T) {
	testenv.Program(t, "ip", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	root := testenv.Plant(t, map[string]string{
		"proc/1/stat":         "1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0 0 0 0\n",
		"proc/self/mountinfo": "2 1 0:40 / /home rw - nfs4 files:/home rw,addr=192.0.2.20\n",
		"etc/sssd/sssd.conf":  "[domain/x]\nldap_uri = ldap://192.0.2.21, ldaps://ldap.example\n",
	})
	found := protectedBelow(t, root)
	for prefix, want := range map[string]string{"192.0.2.20/32": `a server of the file system at "/home"`, "192.0.2.21/32": "a directory server of this machine, which logins ask"} {
		if found[prefix] != want {
			t.Errorf("%s: %q", prefix, found[prefix])
		}
	}
}

// A user can move what is mounted in a directory of theirs below many others with long names. That
// neither keeps a program from blocking nor takes the protection of a server away.
func TestMountsThatAUserMovesFarAway(t *testing.T) {
	far := strings.Repeat("/"+strings.Repeat(`\040`, 250), 75)
	root := testenv.Plant(t, map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"2 1 0:41 / /home/eve" + far + "/a/mnt rw,nosuid,nodev - fuse.x 203.0.113.1:/ rw,user_id=54321,addr=203.0.113.2\n" +
			"3 1 0:42 / /home/eve" + far + "/a/share rw - cifs //nas/share rw,addr=192.0.2.23\n" +
			"4 1 0:40 / /home rw - nfs4 files:/home rw,addr=192.0.2.20\n",
	})
	list, err := NewHostContext(root).storage(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if list[0].Prefix.Addr().String() != "192.0.2.23" || list[0].Why != `a server of the file system at "a path that is too long to tell"` {
		t.Errorf("%+v", list[0])
	}
	if list[1].Prefix.Addr().String() != "192.0.2.20" || list[1].Why != `a server of the file system at "/home"` {
		t.Errorf("%+v", list[1])
	}
}
