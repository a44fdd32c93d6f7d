// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// What starts is whose choice it was, whoever the file was given to.
func TestWhatStartsIsOfWhoChoseIt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nmallory:x:1500:1500::/home/mallory:/bin/sh\n", "etc/subuid": "mallory:100000:65536\n",
		"etc/cron.d/system": "* * * * * mallory /opt/x\n", "etc/cron.d/theirs": "* * * * * mallory /opt/x\n", "etc/crontabs/mallory": "* * * * * /opt/x\n",
		"etc/crontabs/root": "* * * * * /opt/x\n", "etc/crontabs/ana": "* * * * * /opt/x\n",
		"home/mallory/.config/systemd/user/a.service": "[Service]\nExecStart=/opt/a\n", "home/mallory/.config/systemd/user/b.service": "[Service]\nExecStart=/opt/b\n",
		"var/spool/cron/atjobs/a0000101b9d2a0": "/opt/x\n", "etc/profile.d/sub.sh": "/opt/x\n", "etc/profile.d/other.sh": "/opt/x\n",
	})
	for name, uid := range map[string]int{
		"etc/cron.d/theirs": 1500, "home/mallory/.config/systemd/user/a.service": 100_001, "home/mallory/.config/systemd/user/b.service": 0,
		"var/spool/cron/atjobs/a0000101b9d2a0": 100_002, "etc/profile.d/sub.sh": 165_535, "etc/profile.d/other.sh": 165_536,
	} {
		if err := os.Chown(filepath.Join(root, name), uid, 0); err != nil {
			t.Fatal(err)
		}
	}
	found, err := New(Parts{Root: root}).Startup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range found.Entries {
		got[e.File] = e.By
	}
	want := map[string]string{
		"/etc/cron.d/system": "", "/etc/cron.d/theirs": "mallory", "/etc/crontabs/mallory": "mallory", "/etc/crontabs/root": "", "/etc/crontabs/ana": "ana",
		"/home/mallory/.config/systemd/user/a.service": "mallory", "/home/mallory/.config/systemd/user/b.service": "mallory",
		"/var/spool/cron/atjobs/a0000101b9d2a0": "mallory", "/etc/profile.d/sub.sh": "mallory", "/etc/profile.d/other.sh": "165536",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
