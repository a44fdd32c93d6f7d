// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/testenv"
)

// A mount is left out where another one that is walked has its files, and only there.
func TestNoMountIsLeftOutForOneThatIsNotLookedAt(t *testing.T) {
	const root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
	for name, c := range map[string]struct {
		table        string
		system, rest string
	}{
		"a part below the system":         {"2 1 0:9 / /mnt/pool rw - tmpfs t rw\n3 1 0:9 /@opt /opt rw - tmpfs t rw\n", "/ /opt", "/ /mnt/pool"},
		"the part first":                  {"2 1 0:9 /@opt /opt rw - tmpfs t rw\n3 1 0:9 / /mnt/pool rw - tmpfs t rw\n", "/ /opt", "/ /mnt/pool"},
		"nosuid, and once more without":   {"2 1 0:9 / /a rw,nosuid - tmpfs t rw\n3 1 0:9 / /b rw - tmpfs t rw\n", "/", "/ /b"},
		"the same twice":                  {"2 1 0:9 / /a rw - tmpfs t rw\n3 1 0:9 / /b rw - tmpfs t rw\n", "/", "/ /a"},
		"a part of what is walked":        {"2 1 0:9 / /a rw - tmpfs t rw\n3 1 0:9 /x /b rw - tmpfs t rw\n", "/", "/ /a"},
		"hidden by a mount over it":       {"2 1 0:9 / /a rw - tmpfs t rw\n3 1 0:9 /x /b rw - tmpfs t rw\n4 2 0:10 / /a/x rw - tmpfs u rw\n", "/", "/ /a /b /a/x"},
		"partly hidden":                   {"2 1 0:9 / /a rw - tmpfs t rw\n3 1 0:9 /x /b rw - tmpfs t rw\n4 2 0:10 / /a/x/y rw - tmpfs u rw\n", "/", "/ /a /b /a/x/y"},
		"its folder hidden":               {"2 1 0:9 / /c/a rw - tmpfs t rw\n3 1 0:9 / /b rw - tmpfs t rw\n4 1 0:10 / /c rw - tmpfs u rw\n", "/", "/ /b /c"},
		"a part of the root":              {"2 1 8:1 /srv/x /mnt/x rw - ext4 /dev/sda1 rw\n", "/", "/"},
		"a part of the root, as a system": {"2 1 8:1 /srv/x /opt rw - ext4 /dev/sda1 rw\n", "/ /opt", "/"},
		"a system part, as another":       {"2 1 8:1 /usr/x /opt rw - ext4 /dev/sda1 rw\n", "/", "/"},
		"out of a storage of containers":  {"2 1 8:1 /var/lib/docker/x /srv rw - ext4 /dev/sda1 rw\n", "/", "/ /srv"},
		"out of what others do not enter": {"2 1 8:1 /closed/x /srv rw - ext4 /dev/sda1 rw\n", "/", "/ /srv"},
		"a type in no list":               {"2 1 7:1 / /srv rw - newfs /dev/loop1 rw\n3 1 7:2 / /mnt rw,nosuid - newfs /dev/loop2 rw\n", "/", "/ /srv"},
		"images":                          {"2 1 7:1 / /srv ro - erofs /dev/loop1 ro\n3 1 7:2 / /mnt ro - squashfs /dev/loop2 ro\n4 1 11:0 / /media ro - iso9660 /dev/sr0 ro\n5 1 0:6 / /dev rw - devtmpfs devtmpfs rw\n", "/", "/ /srv /mnt /media /dev"},
		"below the kernel's own":          {"2 1 0:3 / /proc rw - proc proc rw\n3 1 0:4 / /sys rw - sysfs sysfs rw\n4 3 0:5 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n5 4 0:6 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n6 2 0:7 / /proc/fs rw - tmpfs tmpfs rw\n", "/", "/ /sys/fs/cgroup /proc/fs"},
		"served by others":                {"2 1 0:9 / /srv rw - nfs4 nas:/ rw\n3 1 0:10 / /mnt rw - fuse.sshfs b: rw,user_id=0\n4 1 0:11 / /media rw - fuseblk /dev/sdb1 rw\n", "/", "/"},
		"over itself":                     {"2 1 8:1 /usr /usr ro - ext4 /dev/sda1 rw\n", "/ /usr", "/"},
	} {
		table, err := tableOf(t, root+c.table)
		if err != nil {
			t.Fatal(err)
		}
		closed := func(path string) bool { return isBelow(path, "/closed") }
		if diff := cmp.Diff(c.system, strings.Join(walkStarts(table, true, closed), " ")); diff != "" {
			t.Errorf("%s: of the system: %s", name, diff)
		}
		rest := strings.ReplaceAll(strings.Join(walkStarts(table, false, closed), " "), "/var/tmp /var/lock /var/run ", "")
		if diff := cmp.Diff(c.rest, strings.Replace(rest, "/ /var/tmp /var/lock /var/run", "/", 1)); diff != "" {
			t.Errorf("%s: the rest: %s", name, diff)
		}
	}
}

// What is at each place of a real table of mounts is found.
func TestFindsWhatIsMountedTwice(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs tmpfs /mnt && mkdir /mnt/pool /mnt/a /mnt/b && mount -t tmpfs pool /mnt/pool &&
		mkdir /mnt/pool/@opt && touch /mnt/pool/@opt/left && chmod 0777 /mnt/pool/@opt/left && chown 4242 /mnt/pool/@opt/left && mount --bind /mnt/pool/@opt /opt &&
		mount -t tmpfs -o nosuid two /mnt/a && mount --bind /mnt/a /mnt/b && mount -o remount,bind,suid /mnt/b && cp /bin/sh /mnt/b/dash && chmod 4755 /mnt/b/dash && exec "$@"`, "sh") {
		return
	}
	if os.Geteuid() != 0 {
		t.Fatal("not root of the namespace")
	}
	found := map[string]audit.Finding{}
	for _, c := range New(live()).Checks() {
		if strings.HasPrefix(c.ID, "tree.") && c.ID != "tree.unpackaged" {
			found[c.ID] = c.Run(t.Context())
		}
	}
	for id, c := range map[string]struct {
		want audit.Status
		says string
	}{
		"tree.world_writable": {audit.Fail, "/opt/left: mode 0777, owner 4242:0"},
		"tree.unowned":        {audit.Warn, "/opt/left: mode 0777, owner 4242:0"},
		"tree.setuid":         {audit.Fail, "/mnt/b/dash: mode 4755, owner 0:0, of no package"},
	} {
		f := found[id]
		if f.Status != c.want || !strings.Contains(strings.Join(f.Evidence, "\n")+"\n", c.says+"\n") {
			t.Errorf("%s: %s", id, audittest.Verdict(f))
		}
	}
}
