// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

const columns = "argv: /bin/ps -A -ww -o pid,ppid,uid,state,time,rss,user,lstart,comm\n-- stdout --\n" +
	"  PID  PPID   UID STAT      TIME    RSS USER              STARTED                      COMM\n" +
	"    1     0     0 Ss     0:01.00   1292 root             Fri Jan  2 03:04:05 2026     /sbin/launchd\n" +
	"  900     1     0 R      0:01.00   1292 root             Fri Jan  2 07:04:05 2026     /usr/local/bin/sentinel\n"

// Whole Macs answer as ps and launchctl of their version do; the kernel is a table.
func TestMachines(t *testing.T) {
	ps := testenv.Plant(t, map[string]string{"ps.txtar": columns})
	for _, mac := range []string{"m4-26", "intel-12"} {
		for _, c := range []struct {
			pid  int
			kill syscall.Errno // of the kernel; 0 for none
			code fault.Code
			says string // part of the message, or of the note
		}{
			{4242, 0, "", ""},
			{812, 0, "", "com.example.web will start it again (KeepAlive)"},
			{231, syscall.EPERM, fault.ProtectedProcess, "System Integrity Protection"},
			{54321, 0, fault.ProcessNotFound, "There is no process with the ID 54321."},
		} {
			m, err := replay.OpenMachine("../../../testdata/macs/"+mac+"/exec", ps)
			if err != nil {
				t.Fatal(err)
			}
			m.Unknown = func(argv string) { t.Errorf("%s, %d: no transcript for %s", mac, c.pid, argv) }
			gone := false
			kill := func(pid int, s syscall.Signal) error {
				switch {
				case pid != c.pid || gone:
					return syscall.ESRCH
				case c.kill != 0:
					return c.kill
				}
				gone = s == syscall.SIGKILL
				return nil
			}
			synctest.Test(t, func(t *testing.T) {
				var got processes.Terminated
				p, err := processes.PlanTermination(t.Context(), NewTerminator(Mac{Root: t.TempDir(), Runner: m, Kill: kill, PID: 900}), processes.Target{PID: c.pid}, nil)
				if err == nil {
					got, err = p.Do(t.Context())
					p.Close()
				}
				message := got.RestartNote
				if err != nil {
					message = err.Error()
				}
				var code fault.Code
				if err != nil {
					code = fault.From(err).Code
				}
				if code != c.code || !strings.Contains(message, c.says) || gone != (c.code == "") {
					t.Errorf("%s, %d: %s %q %+v", mac, c.pid, code, message, got)
				}
			})
		}
	}
}
