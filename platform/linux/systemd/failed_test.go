// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
	"sentinel/internal/testenv"
)

func TestTreeThatIsNotLiveHasNoSystemd(t *testing.T) {
	for _, root := range []string{t.TempDir(), "../../../testdata/hosts/laptop"} {
		if units, err := FailedUnits(t.Context(), root); !errors.Is(err, ErrNotRunning) || units != nil {
			t.Errorf("%s: %v, %v", root, units, err)
		}
	}
}

const broken = `[Unit]
Description=A unit that fails
[Service]
Type=oneshot
ExecStart=/bin/false
`

// failed returns the failed units that this test created.
func failed(t *testing.T) []health.Unit {
	t.Helper()
	all, err := FailedUnits(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	list := []health.Unit{}
	for _, u := range all {
		if strings.HasPrefix(u.Name, "broken") {
			list = append(list, u)
		}
	}
	return list
}

func TestFailedUnitsOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"broken.service": broken}) {
		return
	}
	want := []health.Unit{{Name: "broken.service", Description: "A unit that fails"}}
	if diff := cmp.Diff([]health.Unit{}, failed(t)); diff != "" {
		t.Errorf("before: %s", diff)
	}
	testenv.Systemctl(t, false, "start broken.service")
	if diff := cmp.Diff(want, failed(t)); diff != "" {
		t.Errorf("as root: %s", diff)
	}
	testenv.Systemctl(t, true, "stop dbus.socket dbus.service")
	if diff := cmp.Diff(want, failed(t)); diff != "" {
		t.Errorf("as root without the bus: %s", diff)
	}
	testenv.Systemctl(t, true, "start dbus.socket")
	testenv.Become(t, testenv.Nobody)
	if diff := cmp.Diff(want, failed(t)); diff != "" {
		t.Errorf("as nobody: %s", diff)
	}
}

// Any user makes instances of the service behind a socket with Accept=yes.
func TestManyInstancesHideNoFailedUnitOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"broken@.service": broken, "broken.service": broken}) {
		return
	}
	for i := range 12 {
		testenv.Systemctl(t, false, fmt.Sprintf("start broken@%02d.service", i))
	}
	testenv.Systemctl(t, false, "start broken.service")
	want := []health.Unit{{Name: "broken.service", Description: "A unit that fails"}, {Name: "broken@00.service", Description: "A unit that fails", Instances: 12}}
	if diff := cmp.Diff(want, failed(t)); diff != "" {
		t.Error(diff)
	}
}

func TestBusThatIsDownIsAnErrorForOthers(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	testenv.Systemctl(t, true, "stop dbus.socket dbus.service")
	testenv.Become(t, testenv.Nobody)
	if units, err := FailedUnits(t.Context(), "/"); err == nil || units != nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v, %v", units, err)
	}
}

func TestMachineWithoutSystemdSaysSo(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "sh", "-c", `mount -t tmpfs tmpfs /run && exec "$@"`, "sh") {
		return
	}
	if units, err := FailedUnits(t.Context(), "/"); !errors.Is(err, ErrNotRunning) || units != nil {
		t.Errorf("%v, %v", units, err)
	}
}
