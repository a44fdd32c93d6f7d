// SPDX-License-Identifier: Apache-2.0

package services

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

// Whole Macs answer as launchctl of their version does.
func TestMachines(t *testing.T) {
	ps := testenv.Plant(t, map[string]string{"ps.txtar": "argv: /bin/ps -A -ww -o pid,ppid,uid,state,time,rss,user,lstart,comm\n-- stdout --\n" + listing})
	for _, mac := range []string{"m4-26", "intel-12"} {
		for asked, want := range map[string]struct {
			code fault.Code
			says string
			fix  string
			log  int
		}{
			"com.example.web":                   {"", "system/com.example.web was restarted and is active (running), main PID 4711.", "", 0},
			"com.example.broken":                {fault.RestartFailed, "system/com.example.broken died right after the restart (exit status 78).", "log show", 2},
			"com.example.idle":                  {fault.ServiceInactive, "starts it only when it is needed", "sudo launchctl kickstart system/com.example.idle", 0},
			"system/com.apple.audio.coreaudiod": {fault.ProtectedService, "root included", "nothing lifts", 0},
			"com.example.nope":                  {fault.ServiceNotFound, "There is no service com.example.nope.", "sudo launchctl list", 0},
			"com.example.wbe":                   {fault.ServiceNotFound, "There is no service com.example.wbe.", "Did you mean com.example.web?", 0},
		} {
			m, err := replay.OpenMachine("../../../testdata/macs/"+mac+"/exec", ps)
			if err != nil {
				t.Fatal(err)
			}
			m.Unknown = func(argv string) { t.Errorf("%s, %s: no transcript for %s", mac, asked, argv) }
			s := source(t, nil)
			s.Runner = m
			synctest.Test(t, func(t *testing.T) {
				plan, err := services.PlanRestart(t.Context(), s, services.Options{Name: asked})
				var got services.Restarted
				if err == nil {
					got, err = plan.Do(t.Context())
					plan.Close()
				}
				message := got.Message
				if err != nil {
					message = err.Error()
				}
				if code(err) != want.code || !strings.Contains(message, want.says) || len(got.Log) != want.log || err != nil && !strings.Contains(fix(err), want.fix) {
					t.Errorf("%s, %s: %s %q, log %q", mac, asked, code(err), message, got.Log)
				}
				<-time.After(time.Minute)
			})
		}
	}
}
