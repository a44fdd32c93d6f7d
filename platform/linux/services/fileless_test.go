// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"os"
	"strings"
	"testing"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/deadfuse"
)

// systemd keeps what runs when its unit file is removed, and cannot start it again once it has read its files anew.
func TestAServiceThatRunsWithoutItsFileIsToldAndNotStopped(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	const file = "/etc/systemd/system/fileless.service"
	if err := os.WriteFile(file, []byte(sleeps), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare(t, []string{"daemon-reload", "start fileless"})
	before := mainPID(t, "fileless")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	const removed = " Its unit file was removed since systemd read it, and what it said counts until: systemctl daemon-reload"
	if summary, err := plan(t, services.Options{Name: "fileless"}); err != nil || !strings.HasSuffix(summary, "would be restarted."+removed) {
		t.Errorf("%q, %v", summary, err)
	}
	prepare(t, []string{"daemon-reload"})
	const fileless = "fileless.service has no unit file any more, so that it cannot be started again; nothing was changed."
	for _, force := range []bool{false, true} {
		if _, err := plan(t, services.Options{Name: "fileless", Force: force}); code(err) != fault.RestartFailed || err.Error() != fileless {
			t.Errorf("force %v: %v", force, err)
		}
	}
	got, err := services.Inspect(t.Context(), NewServices("/", sysexec.Host{}), services.Question{Name: "fileless"})
	if err != nil {
		t.Fatal(err)
	}
	const summary = "fileless.service is active (running). It has no unit file any more, so that it cannot be started again."
	if s := got.Services[0]; s.Summary != summary || s.State.Active != "active" || s.State.MainPID == 0 {
		t.Errorf("%+v", s)
	}
	if now := mainPID(t, "fileless"); now != before {
		t.Errorf("the main process was %s and is %s", before, now)
	}
	prepare(t, []string{"stop fileless"})
	if _, err := plan(t, services.Options{Name: "fileless"}); code(err) != fault.ServiceNotFound {
		t.Errorf("stopped: %v", err)
	}
}

// A unit file on a disk that does not answer is not known to be gone, and does not hold up what is said of its unit.
func TestAUnitFileThatCannotBeLookedAtIsNotToldAsRemoved(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.HangGuard(t)
	ctx, cancel := context.WithCancel(t.Context())
	mount := deadfuse.NewForAll(t)
	go func() {
		<-mount.Looks
		cancel()
	}()
	if (startFiles{mount.Dir}).removed(ctx, "x.service") {
		t.Error("removed")
	}
	if !(startFiles{t.TempDir()}).removed(t.Context(), "x.service") {
		t.Error("not removed")
	}
}
