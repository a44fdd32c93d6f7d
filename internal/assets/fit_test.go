// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sentinel/internal/answer"
)

// crowd is a host with n interfaces and n volumes, with every text as long, and as
// expensive to encode, as the kernel allows.
func crowd(n int, text string) fake {
	f := server()
	long := strings.Repeat(text, 4096)
	f.machine.Model, f.machine.Vendor, f.machine.Chip, f.machine.Serial = be(long), be(long), be(long), be(long)
	f.machine.Container, f.machine.Virtualization = long, be(long)
	f.system = System{Hostname: long, Name: be(long), Version: be(long), Build: be(long), Kernel: be(long), Architecture: be(long)}
	f.links, f.volumes = nil, nil
	for range n {
		l := Link{Name: strings.Repeat(text, 15), MAC: strings.Repeat("ff:", 19) + "ff", MTU: 1 << 30, SpeedMbps: 1 << 30}
		for range 100 {
			l.Addresses = append(l.Addresses, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128")
		}
		f.links = append(f.links, l)
		f.volumes = append(f.volumes, Volume{Device: long, Mountpoint: "/" + long, FileSystem: long, ReadOnly: new(false), Number: "1:1"})
	}
	f.inspect = func(Volume) VolumeState {
		return VolumeState{UsageErr: errors.New(long), EncryptedErr: errors.New(long)}
	}
	return f
}

func TestADefaultDocumentStaysWithinItsBudget(t *testing.T) {
	for _, text := range []string{"a", "<", "\u00e9", "\U0001f600", "\x1b", "\xff", `"`} {
		for _, n := range []int{0, 1, 50, 1000} {
			r := take(t, crowd(n, text), DefaultLimit)
			raw, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(raw) > budget {
				t.Errorf("%d rows of %q: %d bytes", n, text, len(raw))
			}
			network, storage := r.Asset.Network, r.Asset.Storage
			if *network.InterfacesTotal != n || *storage.VolumesTotal != n {
				t.Errorf("%d rows of %q: totals %d and %d", n, text, *network.InterfacesTotal, *storage.VolumesTotal)
			}
			if network.Truncated != (len(network.Interfaces) < n) || storage.Truncated != (len(storage.Volumes) < n) {
				t.Errorf("%d rows of %q: a cut list does not say so", n, text)
			}
			if n > 0 && (len(network.Interfaces) == 0 || len(storage.Volumes) == 0) {
				t.Errorf("%d rows of %q: a list was cut to nothing", n, text)
			}
		}
	}
}

// A program that asked for no more gets no more, with names of any length.
func TestABriefDocumentStaysWithinItsBudget(t *testing.T) {
	for _, text := range []string{"a", "\u00e9", "\x1b"} {
		f := crowd(1000, text)
		r, err := Collect(t.Context(), f, Options{Limit: DefaultLimit, Brief: true, Firewall: "ACTIVE"})
		if err != nil {
			t.Fatal(err)
		}
		n, s := r.Asset.Network, r.Asset.Storage
		if answer.Size(r) > briefBudget || len(n.Interfaces) == 0 || len(s.Volumes) == 0 || !n.Truncated || !s.Truncated {
			t.Errorf("%q: %d bytes, %d interfaces, %d volumes", text, answer.Size(r), len(n.Interfaces), len(s.Volumes))
		}
	}
}

// The budget does not cut an ordinary host with fifty rows of each.
func TestFiftyOrdinaryRowsFit(t *testing.T) {
	f := server()
	f.links, f.volumes = nil, nil
	for i := range 50 {
		f.links = append(f.links, Link{Name: fmt.Sprintf("veth%08x", i), MAC: "00:00:5e:00:53:01", MTU: 1500, Up: true, Addresses: []string{"fe80::200:5eff:fe00:5301/64"}})
		f.volumes = append(f.volumes, Volume{Device: fmt.Sprintf("/dev/mapper/data-volume%02d", i), Mountpoint: fmt.Sprintf("/srv/data/volume%02d", i), FileSystem: "ext4", ReadOnly: new(false)})
	}
	a := take(t, f, DefaultLimit).Asset
	if len(a.Network.Interfaces) != 50 || len(a.Storage.Volumes) != 50 || a.Network.Truncated || a.Storage.Truncated {
		t.Errorf("%d interfaces and %d volumes are left", len(a.Network.Interfaces), len(a.Storage.Volumes))
	}
}

func TestALimitLengthensOrShortensBothLists(t *testing.T) {
	f := crowd(200, "a")
	for limit, want := range map[int]int{3: 3, 120: 120, 200: 200, 500: 200, 0: 200} {
		a := take(t, f, limit).Asset
		cut := want < 200
		if len(a.Network.Interfaces) != want || len(a.Storage.Volumes) != want || a.Network.Truncated != cut || a.Storage.Truncated != cut {
			t.Errorf("limit %d: %d interfaces and %d volumes", limit, len(a.Network.Interfaces), len(a.Storage.Volumes))
		}
	}
	all := take(t, f, 0).Asset.Network.Interfaces[0]
	if len(all.Addresses) != 100 || all.AddressesTotal != 0 {
		t.Errorf("without a limit %d addresses, total %d", len(all.Addresses), all.AddressesTotal)
	}
	some := take(t, f, 200).Asset.Network.Interfaces[0]
	if len(some.Addresses) != maxAddresses || some.AddressesTotal != 100 {
		t.Errorf("with a limit %d addresses, total %d", len(some.Addresses), some.AddressesTotal)
	}
}
