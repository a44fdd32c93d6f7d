// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

// A fake is a Source that returns its fields.
type fake struct {
	machine    Machine
	system     System
	protection Protections
	links      []Link
	linksErr   error
	volumes    []Volume
	volumesErr error
	inspect    func(Volume) VolumeState
}

func (f fake) Machine(context.Context) Machine            { return f.machine }
func (f fake) System(context.Context) System              { return f.system }
func (f fake) Protections(context.Context) Protections    { return f.protection }
func (f fake) Interfaces(context.Context) ([]Link, error) { return f.links, f.linksErr }
func (f fake) Volumes(context.Context) ([]Volume, error)  { return f.volumes, f.volumesErr }
func (f fake) Inspect(_ context.Context, v Volume) VolumeState {
	if f.inspect == nil {
		return VolumeState{}
	}
	return f.inspect(v)
}

func be[T comparable](v T) Fact[T] { return Fact[T]{Value: v} }

func fail[T comparable](err error) Fact[T] { return Fact[T]{Err: err} }

func server() fake {
	return fake{
		machine: Machine{
			Model: be("Example 1"), Vendor: be("Example Corp."), Serial: be("EXAMPLE123"), Chip: be("Example CPU"),
			Cores: be(8), CoresPhysical: be(4), Sockets: be(1), MemoryTotal: be(uint64(33_500_000_000)), MemoryAvailable: be(uint64(32_000_000_000)),
			Virtualization: be("kvm"), Container: "docker",
		},
		system: System{
			Hostname: "host.example", MachineID: be([16]byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}),
			Name: be("Example Linux"), Version: be("1"), Build: be("1.2"), Kernel: be("6.1.0"), Architecture: be("x86_64"), Uptime: be(90*time.Minute + 7*time.Second),
		},
		protection: Protections{
			SecureBoot: be("enabled"), AppArmor: be("enabled"), Profiles: &Profiles{Enforcing: 3}, SELinux: be("disabled"), Lockdown: be("none"),
		},
		links:   []Link{{Name: "eth0", MAC: "00:00:5e:00:53:01", MTU: 1500, Up: true, SpeedMbps: 1000, Addresses: []string{"192.0.2.5/24"}}},
		volumes: []Volume{{Device: "/dev/sda1", Mountpoint: "/", FileSystem: "ext4", ReadOnly: new(false)}},
		inspect: func(Volume) VolumeState { return VolumeState{Size: 100, Used: 40, Encrypted: true} },
	}
}

func take(t *testing.T, f fake, limit int) Result {
	t.Helper()
	r, err := Collect(t.Context(), f, Options{Limit: limit, Firewall: "ACTIVE", Now: time.Date(2026, 1, 23, 10, 30, 0, 0, time.FixedZone("", 3600))})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAKnownMachineIsReportedInFull(t *testing.T) {
	want := Result{
		Asset: Asset{
			AssetID: "d808e482-c3ab-42f7-be8b-163d40c9821c", Hostname: "host.example", SerialNumber: "EXAMPLE123",
			Hardware: Hardware{
				Model: "Example 1", Vendor: "Example Corp.", Chip: "Example CPU", Cores: new(8), CoresPhysical: new(4), Sockets: new(1),
				MemoryGB: new(31), MemoryBytes: new(uint64(33_500_000_000)), MemoryUsedGB: new(1), MemoryUsedBytes: new(uint64(1_500_000_000)),
			},
			OS: OS{
				Name: "Example Linux", Version: "1", Build: "1.2", Kernel: "6.1.0", Architecture: "x86_64", Uptime: "1:30", UptimeSeconds: new(int64(5407)),
			},
			Network: Network{
				Interfaces:      []Interface{{Name: "eth0", MAC: "00:00:5e:00:53:01", MTU: 1500, State: "up", SpeedMbps: 1000, Addresses: []string{"192.0.2.5/24"}}},
				InterfacesTotal: new(1),
			},
			Security: Security{
				Firewall: "ACTIVE", SecureBoot: "enabled", AppArmor: "enabled", AppArmorEnforcing: new(3), AppArmorComplaining: new(0),
				SELinux: "disabled", Lockdown: "none", DiskEncryption: new(true),
			},
			Storage: Storage{
				Volumes:      []VolumeRow{{Device: "/dev/sda1", Mountpoint: "/", FileSystem: "ext4", SizeBytes: new(uint64(100)), UsedBytes: new(uint64(40)), ReadOnly: new(false), Encrypted: new(true)}},
				VolumesTotal: new(1),
			},
			Container: "docker", Virtualization: "kvm", LastUpdated: "2026-01-23T09:30:00Z",
		},
		Unavailable: []answer.Gap{},
	}
	if diff := cmp.Diff(want, take(t, server(), DefaultLimit)); diff != "" {
		t.Error(diff)
	}
}

// Every field of the document without a value must have a reason, or readers would
// take its absence for "no".
func TestWhatIsUnknownIsAbsentAndHasAReason(t *testing.T) {
	r := take(t, fake{}, DefaultLimit)
	reasons := map[string]string{}
	for _, gap := range r.Unavailable {
		reasons[gap.Field] = gap.Reason
	}
	const none = "not provided by this system"
	want := map[string]string{
		"asset_id": none, "hostname": none, "serial_number": none, "hardware.model": none, "hardware.vendor": none, "hardware.chip": none, "hardware.cores": none,
		"hardware.cores_physical": none, "hardware.sockets": none, "hardware.memory_bytes": none, "hardware.memory_used_bytes": "the size of memory is not known", "os.name": none, "os.version": none, "os.build": none,
		"os.kernel": none, "os.architecture": none, "os.uptime_seconds": none, "security.secure_boot": none, "security.apparmor": none,
		"security.selinux": none, "security.lockdown": none, "security.disk_encryption": "the root file system is not in the list of volumes",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(r.Asset)
	if err != nil {
		t.Fatal(err)
	}
	const empty = `{"hardware":{},"os":{},"network":{"interfaces":[],"interfaces_total":0,"truncated":false},"security":{"firewall":"ACTIVE"},` +
		`"storage":{"volumes":[],"volumes_total":0,"truncated":false},"last_updated":"2026-01-23T09:30:00Z"}`
	if string(raw) != empty {
		t.Errorf("got %s", raw)
	}
}

func TestReasonsAreThoseOfThePlatform(t *testing.T) {
	boom := errors.New("boom")
	f := server()
	f.machine.Serial = fail[string](&fs.PathError{Op: "open", Path: "/sys/x", Err: fs.ErrPermission})
	f.machine.MemoryAvailable = fail[uint64](boom)
	f.machine.Virtualization = fail[string](boom)
	f.system.MachineID = fail[[16]byte](boom)
	f.protection.Profiles, f.protection.ProfilesErr = nil, fs.ErrPermission
	f.linksErr = boom
	f.inspect = func(Volume) VolumeState {
		return VolumeState{UsageErr: context.DeadlineExceeded, EncryptedErr: boom}
	}
	r := take(t, f, DefaultLimit)
	want := []answer.Gap{
		{Field: "serial_number", Reason: "not readable without root"},
		{Field: "hardware.memory_used_bytes", Reason: "boom"},
		{Field: "virtualization", Reason: "boom"},
		{Field: "asset_id", Reason: "boom"},
		{Field: "security.apparmor_enforcing", Reason: "not readable without root"},
		{Field: "network.interfaces", Reason: "boom"},
		{Field: "security.disk_encryption", Reason: "boom"},
		{Field: "storage.volumes./", Reason: "did not answer in time; boom"},
	}
	if diff := cmp.Diff(want, r.Unavailable); diff != "" {
		t.Error(diff)
	}
	a := r.Asset
	if a.SerialNumber != "" || a.Hardware.MemoryUsedGB != nil || a.AssetID != "" || a.Security.AppArmorEnforcing != nil || a.Security.DiskEncryption != nil {
		t.Errorf("an unknown value is shown: %+v", a)
	}
	if v := a.Storage.Volumes[0]; v.SizeBytes != nil || v.UsedBytes != nil || v.Encrypted != nil {
		t.Errorf("an unknown value of a volume is shown: %+v", v)
	}
	if len(a.Network.Interfaces) != 1 {
		t.Error("what is known in spite of an error was dropped")
	}
}

func TestAListThatCannotBeReadIsAbsentNotEmpty(t *testing.T) {
	f := server()
	f.links, f.linksErr, f.volumes, f.volumesErr = nil, errors.New("no netlink"), nil, errors.New("no mounts")
	r := take(t, f, DefaultLimit)
	raw, err := json.Marshal([]any{r.Asset.Network, r.Asset.Storage, r.Unavailable})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"truncated":false},{"truncated":false},[{"field":"network.interfaces","reason":"no netlink"},` +
		`{"field":"storage.volumes","reason":"no mounts"},{"field":"security.disk_encryption","reason":"the volumes are not known"}]]`
	if string(raw) != want {
		t.Errorf("got %s", raw)
	}
}

func TestNoFirewallStatusIsAGap(t *testing.T) {
	r, err := Collect(t.Context(), server(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []answer.Gap{{Field: "security.firewall", Reason: "not looked at"}}; !cmp.Equal(want, r.Unavailable) {
		t.Errorf("got %v", r.Unavailable)
	}
	if _, err := time.Parse(time.RFC3339, r.Asset.LastUpdated); err != nil {
		t.Error(err)
	}
}

func TestAnEndedContextIsTheOnlyError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Collect(ctx, server(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInterfacesPeopleAskForComeFirst(t *testing.T) {
	f := server()
	f.links = []Link{
		{Name: "lo", Up: true, Loopback: true, Addresses: []string{"127.0.0.1/8"}},
		{Name: "veth1", Up: true, Addresses: []string{"fe80::1/64"}},
		{Name: "veth2", Up: true},
		{Name: "down0", Addresses: []string{"192.0.2.9/24"}},
		{Name: "eth0", Up: true, Addresses: []string{"192.0.2.5/24"}},
		{Name: "eth1", Up: true, Addresses: []string{"2001:db8::1/64"}},
	}
	given := slices.Clone(f.links)
	var names []string
	for _, i := range take(t, f, DefaultLimit).Asset.Network.Interfaces {
		names = append(names, i.Name)
		if i.Addresses == nil {
			t.Errorf("the addresses of %s are null", i.Name)
		}
	}
	if diff := cmp.Diff([]string{"eth0", "eth1", "lo", "veth1", "veth2", "down0"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(given, f.links); diff != "" {
		t.Errorf("the platform's list was reordered: %s", diff)
	}
}

func TestManySilentVolumesAreCountedNotListed(t *testing.T) {
	r := take(t, crowd(40, "a"), DefaultLimit)
	named, last := 0, answer.Gap{}
	for _, gap := range r.Unavailable {
		if strings.HasPrefix(gap.Field, "storage.volumes./") {
			named += len(gap.Fields())
		}
		last = gap
	}
	if want := (answer.Gap{Field: "storage.volumes", Reason: fmt.Sprint(40-named, " more volumes did not answer in full")}); named == 0 || named > 12 || last != want {
		t.Errorf("%d named, last %+v", named, last)
	}
}

func TestVolumesAreInspectedAsTheyAreListed(t *testing.T) {
	f := server()
	f.volumes = nil
	for i := range 100 {
		f.volumes = append(f.volumes, Volume{Mountpoint: fmt.Sprint("/", i), ReadOnly: new(false), Number: fmt.Sprint(i)})
	}
	f.inspect = func(v Volume) VolumeState {
		return VolumeState{Size: uint64(len(v.Number)), Encrypted: v.Number == "7"}
	}
	for i, v := range take(t, f, 0).Asset.Storage.Volumes {
		if *v.SizeBytes != uint64(len(fmt.Sprint(i))) || *v.Encrypted != (i == 7) || v.Mountpoint != fmt.Sprint("/", i) {
			t.Errorf("row %d belongs to another volume: %+v", i, v)
		}
	}
}

// No text of the host reaches the document with a control character, whichever
// field it comes from.
func TestHostileTextIsMadeVisible(t *testing.T) {
	raw, err := json.Marshal(take(t, crowd(3, "\x1b\u202e"), DefaultLimit))
	if err != nil {
		t.Fatal(err)
	}
	if s := string(raw); strings.Contains(s, `\u001b`) || strings.ContainsRune(s, 0x202e) || !strings.ContainsRune(s, 0xfffd) {
		t.Errorf("got %.300s", s)
	}
}

func TestMemoryIsRoundedToTheNearest(t *testing.T) {
	for bytes, want := range map[uint64]int{1 << 29: 1, 1<<29 - 1: 0, 16<<30 - 600<<20: 15, 16<<30 - 500<<20: 16, 3 << 30: 3} {
		if got := *gibibytes(bytes); got != want {
			t.Errorf("%d bytes: %d GiB, want %d", bytes, got, want)
		}
	}
}

func TestUptimeReadsLikeUptime(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0 min", 59 * time.Second: "0 min", 5 * time.Minute: "5 min", 59*time.Minute + 59*time.Second: "59 min", time.Hour: "1:00",
		4*time.Hour + 5*time.Minute: "4:05", day: "1 day, 0:00", 3*day + 4*time.Hour + 5*time.Minute: "3 days, 4:05", 400 * day: "400 days, 0:00",
	} {
		if got := uptimeText(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// The expected ID comes from an independent implementation of the same derivation;
// test/truth compares the ID of the running host with systemd's.
func TestAssetIDIsDerivedAndNeverTheMachineID(t *testing.T) {
	id := [16]byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	if got := assetID(id); got != "d808e482-c3ab-42f7-be8b-163d40c9821c" {
		t.Errorf("got %s", got)
	}
	id[15]++
	if got := assetID(id); got[:18] == "d808e482-c3ab-42f7" || got[14] != '4' || !strings.ContainsRune("89ab", rune(got[19])) {
		t.Errorf("got %s", got)
	}
}

// A document has the fields of its system, and neither values nor gaps for fields
// of the other one.
func TestNoFieldOfAnotherSystemIsThere(t *testing.T) {
	linux, apple := server(), server()
	apple.protection = Protections{
		SecureBoot: be("full"), Mac: &MacProtections{SIP: be(new(false)), Gatekeeper: be("enabled"), FileVault: be("encrypting")},
	}
	macFields := []string{"sip_enabled", "gatekeeper", "filevault"}
	linuxFields := []string{"apparmor", "selinux", "lockdown"}
	for _, test := range []struct {
		f          fake
		has, lacks []string
	}{{linux, linuxFields, macFields}, {apple, macFields, linuxFields}} {
		raw, err := json.Marshal(take(t, test.f, DefaultLimit))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range test.has {
			if !strings.Contains(string(raw), `"`+name+`":`) {
				t.Errorf("no %s in %s", name, raw)
			}
		}
		for _, name := range test.lacks {
			if strings.Contains(string(raw), name) {
				t.Errorf("%s in %s", name, raw)
			}
		}
	}
	if s := take(t, apple, DefaultLimit).Asset.Security; s.SIPEnabled == nil || *s.SIPEnabled || s.FileVault != "encrypting" || s.SecureBoot != "full" {
		t.Errorf("%+v", s)
	}
}

func TestProtectionsOfAMacThatAreUnknownHaveAReason(t *testing.T) {
	f := server()
	f.protection = Protections{SecureBoot: fail[string](fs.ErrPermission), Mac: &MacProtections{SIP: fail[*bool](errors.New("boom"))}}
	r := take(t, f, DefaultLimit)
	want := []answer.Gap{
		{Field: "security.secure_boot", Reason: "not readable without root"}, {Field: "security.sip_enabled", Reason: "boom"},
		{Field: "security.gatekeeper", Reason: "not provided by this system"}, {Field: "security.filevault", Reason: "not provided by this system"},
	}
	if diff := cmp.Diff(want, r.Unavailable); diff != "" {
		t.Error(diff)
	}
	if s := r.Asset.Security; s.SIPEnabled != nil || s.Gatekeeper != "" {
		t.Errorf("%+v", s)
	}
}

func TestKindsOfCoresAndPoolsAreShown(t *testing.T) {
	f := server()
	f.machine.CoreKinds = []CoreKind{{"Performance", 4}, {"Efficiency\x1b", 6}}
	f.volumes = []Volume{{Mountpoint: "/", Pool: "disk3", ReadOnly: new(false)}, {Mountpoint: "/nix", Pool: "disk3", ReadOnly: new(false)}}
	a := take(t, f, DefaultLimit).Asset
	if diff := cmp.Diff([]Cores{{"Performance", 4}, {"Efficiency\ufffd", 6}}, a.Hardware.CoreKinds); diff != "" {
		t.Error(diff)
	}
	for _, v := range a.Storage.Volumes {
		if v.Pool != "disk3" {
			t.Errorf("%+v", v)
		}
	}
	if raw, err := json.Marshal(take(t, server(), DefaultLimit)); err != nil || strings.Contains(string(raw), "core_kinds") || strings.Contains(string(raw), "pool") {
		t.Errorf("%s, %v", raw, err)
	}
}
