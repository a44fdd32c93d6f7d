// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

const netClass = "sys/class/net/"

func TestNetDevicesAreReadWithoutNetlink(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		netClass + "eth0/ifindex": "2\n", netClass + "eth0/address": "00:00:5e:00:53:01\n", netClass + "eth0/mtu": "1500\n",
		netClass + "eth0/flags": "0x1003\n", netClass + "eth0/operstate": "up\n",
		netClass + "lo/ifindex": "1\n", netClass + "lo/address": "00:00:00:00:00:00\n", netClass + "lo/flags": "0x9\n",
		netClass + "bonding_masters": "bond0\n",
	})
	got, err := ReadNetDevices(root)
	want := []NetDevice{
		{Name: "eth0", Index: 2, MAC: "00:00:5e:00:53:01", MTU: 1500, Flags: 0x1003, State: "up"},
		{Name: "lo", Index: 1, MAC: "00:00:00:00:00:00", Flags: 9},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := ReadNetDevices(t.TempDir()); !hostfile.Missing(err) {
		t.Errorf("none: %v", err)
	}
}

func TestLinkSpeedIsThatOfTheSameDevice(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		netClass + "eth0/ifindex": "2\n", netClass + "eth0/speed": "1000\n",
		netClass + "down0/ifindex": "3\n", netClass + "down0/speed": "-1\n",
		netClass + "odd0/ifindex": "4\n", netClass + "odd0/speed": "4294967295\n",
		netClass + "none0/ifindex": "5\n",
	})
	for _, c := range []struct {
		name        string
		index, want int
	}{
		{"eth0", 2, 1000}, {"eth0", 7, 0}, {"down0", 3, 0}, {"odd0", 4, 0}, {"none0", 5, 0}, {"gone", 2, 0},
		{"../net/eth0", 2, 0}, {"..", 2, 0}, {"", 2, 0},
	} {
		if got := LinkSpeed(root, c.name, c.index); got != c.want {
			t.Errorf("%s at %d: %d, want %d", c.name, c.index, got, c.want)
		}
	}
}

func FuzzSpeed(f *testing.F) {
	f.Add("1000")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, s string) {
		if got := parseSpeed(s); got < 0 {
			t.Errorf("%q: %d", s, got)
		}
	})
}
