// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"encoding/json"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/assets"
	"sentinel/platform/linux/cpuinfo"
	"sentinel/platform/linux/interfaces"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/sysfs"
	"sentinel/platform/unix/hostfile"
)

var update = flag.Bool("update", false, "rewrite golden files")

// usages are the figures of the made-up machines' file systems. What is not
// here does not answer.
var usages = map[string]mounts.Usage{
	"/":              {Size: 105_089_261_568, Used: 41_003_515_904},
	"/boot":          {Size: 1_790_439_424, Used: 291_454_976},
	"/boot/efi":      {Size: 1_124_999_168, Used: 6_463_488},
	"/boot/firmware": {Size: 535_805_952, Used: 66_101_248},
	"/home":          {Size: 366_958_608_384, Used: 198_642_237_440},
	"/data":          {Size: 1_967_317_618_688, Used: 967_317_618_688},
	"/srv/data":      {Size: 53_661_925_376, Used: 50_978_829_107},
	"/srv":           {Size: 2_000_397_795_328, Used: 16_777_216},
}

func machine(t *testing.T, name string) *Inventory {
	t.Helper()
	v := New(filepath.Join("..", "..", "..", "testdata", "hosts", name))
	v.mounts = v.mounts.WithStatfs(func(mountpoint string) (mounts.Usage, error) {
		usage, ok := usages[mountpoint]
		if !ok {
			return mounts.Usage{}, &os.PathError{Op: "statfs", Path: mountpoint, Err: syscall.EIO}
		}
		return usage, nil
	})
	return v
}

// The whole inventory of each made-up machine, as JSON.
func TestInventoryOfTheMadeUpMachines(t *testing.T) {
	for _, name := range []string{"laptop", "vm", "container", "raspberrypi"} {
		t.Run(name, func(t *testing.T) {
			v := machine(t, name)
			if name == "laptop" {
				v.links = func() ([]interfaces.Link, error) { return laptopLinks(), nil }
			}
			got := collect(t, v)
			golden(t, filepath.Join("testdata", name+".golden.json"), got)
		})
	}
}

func collect(t *testing.T, v *Inventory) []byte {
	t.Helper()
	r, err := assets.Collect(t.Context(), v, assets.Options{
		Limit: assets.DefaultLimit, Firewall: "ACTIVE", Now: time.Date(2026, 1, 23, 10, 30, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if the change is meant, run: make golden\n%s", file, diff)
	}
}

func laptopLinks() []interfaces.Link {
	prefix := netip.MustParsePrefix
	up := uint32(interfaces.FlagUp | interfaces.FlagLowerUp)
	return []interfaces.Link{
		{Index: 1, Name: "lo", MAC: make([]byte, 6), MTU: 65536, Flags: up | interfaces.FlagLoopback, Addresses: []netip.Prefix{prefix("127.0.0.1/8"), prefix("::1/128")}},
		{Index: 2, Name: "enp0s31f6", MAC: []byte{0, 0, 0x5e, 0, 0x53, 2}, MTU: 1500, Flags: interfaces.FlagUp, OperState: 2},
		{
			Index: 3, Name: "wlp2s0", MAC: []byte{0, 0, 0x5e, 0, 0x53, 3}, MTU: 1500, Flags: up, OperState: interfaces.OperUp,
			Addresses: []netip.Prefix{prefix("192.0.2.23/24"), prefix("2001:db8:12::23/64"), prefix("fe80::200:ff:fe00:5303/64")},
		},
		{Index: 4, Name: "docker0", MAC: []byte{0, 0, 0x5e, 0, 0x53, 4}, MTU: 1500, Flags: interfaces.FlagUp, OperState: 2, Kind: "bridge", Addresses: []netip.Prefix{prefix("198.51.100.1/24")}},
		{Index: 7, Name: "tun0", MAC: []byte{192, 0, 2, 23}, MTU: 1420, Flags: up, Kind: "ipip"},
	}
}

func TestSpeedIsAskedOfHardwareAlone(t *testing.T) {
	v := machine(t, "raspberrypi")
	for _, c := range []struct {
		name string
		link interfaces.Link
		want int
	}{
		{"hardware", interfaces.Link{Index: 2, Name: "eth0", OperState: interfaces.OperUp}, 1000},
		{"bundle", interfaces.Link{Index: 2, Name: "eth0", OperState: interfaces.OperUp, Kind: "bond"}, 1000},
		{"virtual", interfaces.Link{Index: 2, Name: "eth0", OperState: interfaces.OperUp, Kind: "veth"}, 0},
		{"down", interfaces.Link{Index: 2, Name: "eth0", OperState: 2}, 0},
		{"another device of that name", interfaces.Link{Index: 9, Name: "eth0", OperState: interfaces.OperUp}, 0},
	} {
		if got := v.speed(c.link); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A tree without anything must give reasons, not zeroes.
func TestAnEmptySystemIsUnknownThroughout(t *testing.T) {
	v := New(t.TempDir())
	m := v.Machine(t.Context())
	for name, err := range map[string]error{
		"model": m.Model.Err, "vendor": m.Vendor.Err, "serial": m.Serial.Err, "chip": m.Chip.Err, "cores": m.Cores.Err,
		"physical cores": m.CoresPhysical.Err, "sockets": m.Sockets.Err, "memory": m.MemoryTotal.Err, "available memory": m.MemoryAvailable.Err,
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want not exist", name, err)
		}
	}
	if m.Container != "" || m.Virtualization.Value != "" {
		t.Errorf("container %q, virtualization %q", m.Container, m.Virtualization.Value)
	}
	if _, err := v.Volumes(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("volumes: %v", err)
	}
	if list, err := v.Interfaces(t.Context()); len(list) != 0 || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("interfaces: %v, %v", list, err)
	}
	s := v.Inspect(t.Context(), assets.Volume{Mountpoint: "/", Number: "x"})
	if !errors.Is(s.UsageErr, mounts.ErrNotLive) || !errors.Is(s.EncryptedErr, mounts.ErrFormat) {
		t.Errorf("a volume: %v, %v", s.UsageErr, s.EncryptedErr)
	}
}

func TestTheMachineIsNamedByTheBestWitness(t *testing.T) {
	dmi := sysfs.DMI{SystemVendor: "D", ProductName: "dmi"}
	tree := sysfs.DeviceTree{Model: "tree", Compatible: []string{"acme,board"}}
	cpu := cpuinfo.Info{Board: "cpu"}
	for want, got := range map[[2]string][2]string{
		{"D", "dmi"}:     pair(identity(dmi, tree, cpu)),
		{"acme", "tree"}: pair(identity(sysfs.DMI{}, tree, cpu)),
		{"", "cpu"}:      pair(identity(sysfs.DMI{}, sysfs.DeviceTree{}, cpu)),
		{"", ""}:         pair(identity(sysfs.DMI{}, sysfs.DeviceTree{}, cpuinfo.Info{})),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func pair(a, b string) [2]string { return [2]string{a, b} }

func TestFirmwareThatSaysNothingIsNamedAsSuch(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/class/dmi/id")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "product_name"), []byte("To Be Filled By O.E.M.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(root).Machine(t.Context())
	if !errors.Is(m.Model.Err, sysfs.ErrPlaceholder) || !errors.Is(m.Vendor.Err, sysfs.ErrPlaceholder) {
		t.Errorf("model: %v, vendor: %v", m.Model.Err, m.Vendor.Err)
	}
}

func TestNamesFallBackInOrder(t *testing.T) {
	root := t.TempDir()
	v := New(root)
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o700); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string][2]string{
		"NAME=N\nPRETTY_NAME=P\nID=i\nVERSION_ID=1\nVERSION=v\n": {"N", "1"},
		"PRETTY_NAME=P\nID=i\nVERSION=v\n":                       {"P", "v"},
		"ID=i\n":                                                 {"i", ""},
		"X=y\n":                                                  {"Linux", ""},
	} {
		if err := os.WriteFile(filepath.Join(root, "etc/os-release"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := v.System(t.Context())
		if s.Name.Value != want[0] || s.Version.Value != want[1] {
			t.Errorf("%q: %q %q, want %q", content, s.Name.Value, s.Version.Value, want)
		}
	}
}

// A container may have no /sys; /proc/cpuinfo is always there.
func TestCoresAreCountedWithoutSysfs(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "proc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "proc/cpuinfo"), []byte("processor\t: 0\n\nprocessor\t: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := New(root).Machine(t.Context())
	if m.Cores != (assets.Fact[int]{Value: 2}) || !errors.Is(m.CoresPhysical.Err, os.ErrNotExist) {
		t.Errorf("cores %+v, physical %+v", m.Cores, m.CoresPhysical)
	}
}

func TestSystemWithoutAReadableReleaseHasNoName(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc/os-release"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := New(root).System(t.Context())
	if s.Name.Value != "" || !errors.Is(s.Name.Err, hostfile.ErrNotRegular) || !errors.Is(s.Version.Err, hostfile.ErrNotRegular) {
		t.Errorf("name %+v, version %+v", s.Name, s.Version)
	}
}
