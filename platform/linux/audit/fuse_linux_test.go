// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

// A user who mounts a file system of their own over a folder keeps root out of it, and does not make a check
// pass by that.
func TestAFileSystemOfAUserIsToldAsNotLookedAt(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	user := userdb.User{Name: "x", UID: 1000, GID: 1000, Home: deadfuse.New(t, 1000).Dir}
	m := &machine{Parts: Parts{Root: "/"}}
	v, good := fileVerdict{}, func(hostfile.Meta) bool { return true }
	all := mcpServers{}
	err := m.as(user, func() {
		v.checkNamed(m, user.Home+"/id_ed25519", good)
		all.add(m, localUsers{}, user, "mcp.json")
	})
	if err != nil || !errors.Is(v.unread, errOnFUSE) {
		t.Errorf("%v, %v", err, v.unread)
	}
	if f := all.List().Judge(func([]configured) audit.Finding { return audit.Passed("") }); f.Status == audit.Pass {
		t.Errorf("%+v", f)
	}
	v = fileVerdict{}
	if err := m.as(user, func() { v.checkNamed(m, "/root/x/id_ed25519", good) }); err != nil || v.unread != nil {
		t.Errorf("what is root's: %v, %v", err, v.unread)
	}
}
