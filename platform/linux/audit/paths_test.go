// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
)

// A treeCase is a check of a tree of files, as [machines] describes them, and what it says and names.
type treeCase struct {
	name, id, files string
	want            audit.Status
	words           string // in the value, the reason or the evidence
}

func judgeTrees(t *testing.T, cases []treeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := testenv.Plant(t, map[string]string{"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n"})
			if err := os.Chmod(root+"/etc", 0o755); err != nil {
				t.Fatal(err)
			}
			unpack(t, root, txtar.Parse([]byte(c.files)))
			f := one(t, c.id, Parts{Root: root, Owner: os.Geteuid()})
			if f.Status != c.want || !strings.Contains(f.Value+f.Reason+strings.Join(f.Evidence, "; "), c.words) {
				t.Errorf("%+v, want %q with %q", f, c.want, c.words)
			}
		})
	}
}

// A drop-in is as good as the unit, and so is whatever leads to one.
func TestUnitsAreLookedAtWithTheirFolders(t *testing.T) {
	judgeTrees(t, []treeCase{
		{"a drop-in", "files.units", "mode 0666 etc/systemd/system/ssh.service.d/o.conf\n-- etc/systemd/system/ssh.service.d/o.conf --\n", audit.Fail, "ssh.service.d/o.conf: -rw-rw-rw-"},
		{"a drop-in of a type", "files.units", "mode 0666 usr/lib/systemd/system/service.d/o.conf\n-- usr/lib/systemd/system/service.d/o.conf --\n", audit.Fail, "service.d/o.conf: -rw-rw-rw-"},
		{"a folder of drop-ins", "files.units", "folder 0777 etc/systemd/system/ssh.service.d\n", audit.Fail, "ssh.service.d: drwxrwxrwx"},
		{"systemctl set-property", "files.units", "mode 0666 etc/systemd/system.control/a.slice.d/50.conf\n-- etc/systemd/system.control/a.slice.d/50.conf --\n", audit.Fail, "50.conf: -rw-rw-rw-"},
		{"what is wanted", "files.units", "mode 0666 etc/systemd/system/a.target.wants/b.service\n-- etc/systemd/system/a.target.wants/b.service --\n", audit.Fail, "wants/b.service: -rw-rw-rw-"},
		{"what is upheld", "files.units", "folder 0777 etc/systemd/system/a.target.upholds\n", audit.Fail, "upholds: drwxrwxrwx"},
		{"a link into a folder of others", "files.units", "link etc/systemd/system/a.service -> ../../../home/u/a.service\nfolder 0777 home/u\n-- home/u/a.service --\n", audit.Fail, "/home/u: drwxrwxrwx"},
		{"a link that another can fill", "files.units", "link etc/systemd/system/a.service -> /home/u/a.service\nfolder 0777 home/u\n", audit.Fail, "/home/u: drwxrwxrwx"},
		{"a unit not in /usr", "files.units", "mode 0666 lib/systemd/system/a.service\n-- lib/systemd/system/a.service --\n", audit.Fail, "a.service: -rw-rw-rw-"},
		{"links of root's", "files.units", "link lib -> usr/lib\nlink etc/systemd/system/a.target.wants/b.service -> /lib/systemd/system/b.service\nlink etc/systemd/system/c.service -> /dev/null\n-- usr/lib/systemd/system/b.service --\n", audit.Pass, "6 files and folders"},
		{"no unit's folder", "files.units", "mode 0666 usr/lib/systemd/system/other/x\n-- usr/lib/systemd/system/other/x --\n", audit.Pass, "2 files and folders"},
	})
}
