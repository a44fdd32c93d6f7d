// SPDX-License-Identifier: Apache-2.0

package privilege

import "syscall"

// The saved ids stay root's, which setreuid(2) would change (setresuid(2)).
func seteuid(uid int) error { return syscall.Setresuid(-1, uid, -1) }

func setegid(gid int) error { return syscall.Setresgid(-1, gid, -1) }
