// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"testing"
	"time"

	"sentinel/internal/logs"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A service with LogNamespace= writes into a journal of its own (systemd.exec(5)).
func TestAServiceWithANamespaceOfItsOwnIsRead(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"apart.service": "[Service]\nType=oneshot\nLogNamespace=secret\nExecStart=/bin/sh -c 'echo \"<3>disk gone\"'\n"}) {
		return
	}
	testenv.Systemctl(t, true, "start apart.service")
	for _, unit := range []string{"apart", ""} {
		testenv.WaitFor(t, "the line of "+unit, func() bool {
			r, err := logs.Read(t.Context(), &Source{Root: "/", Runner: sysexec.Host{}}, logs.Request{Unit: unit, Priority: "err"}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range r.Patterns {
				if p.Unit == "apart.service" && p.Sample == "disk gone" && p.Count == 1 {
					return true
				}
			}
			return false
		})
	}
}
