// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/assets"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

var update = flag.Bool("update", false, "rewrite golden files")

const macs = "../../../testdata/macs/"

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A changed machine answers for some programs in a way of its own.
type changed struct {
	sysexec.Runner
	err    map[string]error  // by path and first argument
	stdout map[string]string // likewise
}

// Run implements [sysexec.Runner].
func (m changed) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 {
		return sysexec.Result{}, errors.New("no limit")
	}
	key := strings.Join(append([]string{filepath.Base(c.Path)}, c.Args...), " ")
	for program, err := range m.err {
		if strings.HasPrefix(key, program) {
			return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, err)
		}
	}
	for program, text := range m.stdout {
		if strings.HasPrefix(key, program) {
			return sysexec.Result{Stdout: []byte(text)}, nil
		}
	}
	return m.Runner.Run(ctx, c)
}

// take takes the inventory of a Mac of the tests; the programs that other
// packages read are those of testdata.
func take(t *testing.T, mac string, change changed) assets.Result {
	t.Helper()
	m, err := replay.OpenMachine(macs+mac+"/exec", "testdata/"+mac)
	if err != nil {
		t.Fatal(err)
	}
	m.Unknown = func(argv string) { t.Errorf("no transcript for %s", argv) }
	change.Runner = m
	v := New(Parts{Root: macs + mac + "/root", Runner: change, Now: func() time.Time { return now }})
	r, err := assets.Collect(t.Context(), v, assets.Options{Limit: assets.DefaultLimit, Firewall: "ACTIVE", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMacsOfTheTests(t *testing.T) {
	for _, mac := range []string{"m4-26", "intel-12"} {
		raw, err := json.MarshalIndent(take(t, mac, changed{}), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := "testdata/" + mac + ".golden.json"
		if *update {
			if err := os.WriteFile(file, append(raw, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(raw)+"\n"); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mac, diff)
		}
	}
}

// A thing is known in one way or another, or its gap says why not.
func reasons(r assets.Result) map[string]string {
	all := map[string]string{}
	for _, gap := range r.Unavailable {
		for _, field := range gap.Fields() {
			all[field] = gap.Reason
		}
	}
	return all
}

func TestEachProgramThatFailsLeavesAGapOfItsOwn(t *testing.T) {
	for program, fields := range map[string][]string{
		"system_profiler -json SPHardwareDataType": {"serial_number", "asset_id", "storage.volumes./Volumes/STICK", "storage.volumes./Volumes/Backup.read_only"},
		"system_profiler -json SPiBridgeDataType":  {"security.secure_boot"},
		"uname":              {"hostname", "os.kernel", "os.architecture"},
		"sysctl":             {"hardware.cores_physical", "hardware.sockets", "hardware.memory_bytes", "hardware.memory_used_bytes", "hardware.vendor", "virtualization", "os.uptime_seconds"},
		"diskutil list":      {"storage.volumes", "security.disk_encryption"},
		"diskutil apfs list": {"security.disk_encryption", "storage.volumes./.encrypted", "storage.volumes./Volumes/Backup.encrypted"},
		"csrutil":            {"security.sip_enabled"},
		"spctl":              {"security.gatekeeper"},
		"fdesetup":           {"security.filevault"},
		"ifconfig":           {"network.interfaces"},
		"vm_stat":            {"hardware.memory_used_bytes"},
	} {
		for _, why := range []error{fs.ErrNotExist, context.DeadlineExceeded, sysexec.ErrOutputTooLarge} {
			got := reasons(take(t, "m4-26", changed{err: map[string]error{program: why}}))
			for _, field := range fields {
				if got[field] == "" {
					t.Errorf("%s, %v: no gap for %s in %v", program, why, field, got)
				}
			}
			// The stick is never known to be encrypted or not.
			if len(got) > len(fields)+1 {
				t.Errorf("%s, %v: %v", program, why, got)
			}
		}
		for name, text := range map[string]string{"empty": "", "another language": "Das ist nicht erlaubt.\n", "cut": "<?xml version=\"1.0\"?><plist><dict><key>Con"} {
			got := reasons(take(t, "m4-26", changed{stdout: map[string]string{program: text}}))
			if got[fields[0]] == "" {
				t.Errorf("%s, %s: no gap for %s in %v", program, name, fields[0], got)
			}
		}
	}
}

func TestWithoutSwVersTheFileTellsTheVersion(t *testing.T) {
	r := take(t, "m4-26", changed{err: map[string]error{"sw_vers": fs.ErrNotExist}})
	if r.Asset.OS.Version != "26.6" || r.Asset.OS.Build != "25G72" {
		t.Errorf("%+v", r.Asset.OS)
	}
}

func TestSizesOfAPFSComeFromSystemProfilerToo(t *testing.T) {
	r := take(t, "m4-26", changed{err: map[string]error{"diskutil apfs list": context.DeadlineExceeded}})
	if v := r.Asset.Storage.Volumes[0]; v.SizeBytes == nil || *v.SizeBytes != 494384795648 || *v.UsedBytes != 494384795648-251658240000 || v.Encrypted != nil {
		t.Errorf("%+v", v)
	}
}

// The model that a virtual machine plays names its hypervisor.
func TestHypervisors(t *testing.T) {
	for values, want := range map[string]string{
		"hw.model: VirtualMac2,1\nkern.hv_vmm_present: 1\n": "apple", "hw.model: VMware20,1\nkern.hv_vmm_present: 1\n": "vmware",
		"hw.model: Parallels-ARM\nkern.hv_vmm_present: 1\n": "parallels", "hw.model: Mac16,1\nkern.hv_vmm_present: 0\n": "",
		"hw.model: iMacPro1,1\nkern.hv_vmm_present: 1\n": "gap", "hw.model: Mac16,1\n": "gap",
	} {
		r := take(t, "m4-26", changed{stdout: map[string]string{"sysctl": values}})
		got := r.Asset.Virtualization
		if reasons(r)["virtualization"] != "" {
			got += "gap"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", values, got, want)
		}
		if own := r.Asset.Hardware.Vendor == "Apple Inc."; own != (want == "" || want == "apple") {
			t.Errorf("%q: vendor %q", values, r.Asset.Hardware.Vendor)
		}
	}
}

func TestKindsOfCoresHaveTheNamesOfTheKernel(t *testing.T) {
	for values, want := range map[string]string{
		"hw.perflevel0.name: Super\nhw.perflevel0.physicalcpu: 6\nhw.perflevel1.name: Performance\nhw.perflevel1.physicalcpu: 12\n": "[{Super 6} {Performance 12}]",
		"hw.perflevel0.name: Standard\nhw.perflevel0.physicalcpu: 8\n":                                                              "[]",
		"hw.model: Mac16,1\n": "[{Performance 4} {Efficiency 6}]",
	} {
		if got := fmt.Sprint(take(t, "m4-26", changed{stdout: map[string]string{"sysctl": values}}).Asset.Hardware.CoreKinds); got != want {
			t.Errorf("%q: %s, want %s", values, got, want)
		}
	}
}

func TestAClockThatIsWrongGivesNoUptime(t *testing.T) {
	future := fmt.Sprintf("kern.boottime: { sec = %d, usec = 0 } later\n", now.Add(time.Hour).Unix())
	r := take(t, "m4-26", changed{stdout: map[string]string{"sysctl": future}})
	if r.Asset.OS.UptimeSeconds != nil || !strings.Contains(reasons(r)["os.uptime_seconds"], "future") {
		t.Errorf("%+v", r.Asset.OS)
	}
}

// One inventory runs each program once, whatever is asked of it.
func TestEachProgramRunsOnce(t *testing.T) {
	m, err := replay.OpenMachine(macs+"m4-26/exec", "testdata/m4-26")
	if err != nil {
		t.Fatal(err)
	}
	seen := &counted{Runner: m, runs: make(chan string, 100)}
	v := New(Parts{Root: macs + "m4-26/root", Runner: seen, Now: time.Now})
	for range 2 {
		v.Machine(t.Context())
		v.System(t.Context())
		v.Protections(t.Context())
		if _, err := v.Interfaces(t.Context()); err != nil {
			t.Error(err)
		}
		list, err := v.Volumes(t.Context())
		if err != nil {
			t.Error(err)
		}
		for _, one := range list {
			v.Inspect(t.Context(), one)
		}
	}
	close(seen.runs)
	var runs []string
	for argv := range seen.runs {
		runs = append(runs, argv)
	}
	slices.Sort(runs)
	if all := len(runs); len(slices.Compact(runs)) != all || all != 14 {
		t.Errorf("%d runs: %q", all, runs)
	}
}

type counted struct {
	sysexec.Runner
	runs chan string
}

// Run implements [sysexec.Runner].
func (c *counted) Run(ctx context.Context, command sysexec.Command) (sysexec.Result, error) {
	c.runs <- command.Path + " " + strings.Join(command.Args, " ")
	return c.Runner.Run(ctx, command)
}

// A stuck machine has one program that ends neither by itself nor when it is told.
type stuck struct {
	sysexec.Runner
	path string
	done chan struct{}
}

// Run implements [sysexec.Runner].
func (s stuck) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Path == s.path {
		<-s.done
		return sysexec.Result{}, context.DeadlineExceeded
	}
	return s.Runner.Run(ctx, c)
}

func TestAStuckProgramIsNotWaitedForLonger(t *testing.T) {
	m, err := replay.OpenMachine(macs+"m4-26/exec", "testdata/m4-26")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		began := time.Now()
		v := New(Parts{Runner: stuck{m, "/usr/sbin/system_profiler", done}, Now: func() time.Time { return now }})
		r, err := assets.Collect(t.Context(), v, assets.Options{Firewall: "ACTIVE"})
		if err != nil || r.Asset.Hardware.Model != "Mac16,1" || r.Asset.Security.FileVault != "on" || reasons(r)["serial_number"] != "did not answer in time" {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(began); took != programLimit {
			t.Errorf("took %v", took)
		}
		close(done)
	})
}

// Names that others chose reach the document without what could harm a reader.
func TestHostileNamesAreTame(t *testing.T) {
	list := `<plist><dict><key>AllDisksAndPartitions</key><array><dict><key>DeviceIdentifier</key><string>disk9</string><key>Content</key><string>x&#10;y</string>` +
		"<key>MountPoint</key><string>/Volumes/a b&#10;\u202e</string></dict></array></dict></plist>"
	profile := `{"SPHardwareDataType":[{"machine_name":"\u001b[2J\u202e","serial_number":"` + strings.Repeat("S", 5000) + `"}]}`
	r := take(t, "m4-26", changed{stdout: map[string]string{"diskutil list": list, "system_profiler -json SPHardwareDataType": profile, "uname": "Darwin \x1b]0;x\a 25 v x arm64\n"}})
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(raw); strings.Contains(s, `\u001b`) || strings.Contains(s, `\n`) || strings.ContainsRune(s, 0x202e) || len(s) > 6000 {
		t.Errorf("%.500s", s)
	}
	if len(r.Asset.Storage.Volumes) != 1 {
		t.Errorf("%+v", r.Asset.Storage)
	}
}

func TestRecordedDisksMakeSoundVolumes(t *testing.T) {
	outputs := map[string]string{}
	for _, r := range testenv.RecordedOutputs(t, "diskutil") {
		outputs[r.Name] = string(r.Raw)
	}
	if outputs["list-plist-apple-silicon.plist"] == "" || outputs["apfs-list-plist-apple-silicon.plist"] == "" {
		return // the two are of one Mac
	}
	r := take(t, "m4-26", changed{stdout: map[string]string{
		"diskutil list": outputs["list-plist-apple-silicon.plist"], "diskutil apfs list": outputs["apfs-list-plist-apple-silicon.plist"],
	}})
	var got []string
	for _, v := range r.Asset.Storage.Volumes {
		got = append(got, fmt.Sprint(v.Mountpoint, v.Device, v.FileSystem, *v.SizeBytes, *v.UsedBytes, v.ReadOnly != nil && *v.ReadOnly, *v.Encrypted, v.Pool))
	}
	want := []string{"//dev/disk3s1s1apfs1995218165760 97790857216 true truedisk3", "/nix/dev/disk3s7apfs1995218165760 97790857216 false truedisk3"}
	if diff := cmp.Diff(want, got); diff != "" || !*r.Asset.Security.DiskEncryption {
		t.Error(diff)
	}
}

// Of a Mac in another language the words of system_profiler decide nothing.
func TestReadOnlyIsReadFromMount(t *testing.T) {
	const german = `{"SPHardwareDataType":[{"serial_number":"X"}],"SPStorageDataType":[{"bsd_name":"disk6s1","mount_point":"/Volumes/STICK","writable":"nein"}]}`
	for options, want := range map[string]bool{"msdos, local, read-only": true, "msdos, local": false} {
		r := take(t, "m4-26", changed{stdout: map[string]string{
			"system_profiler -json SPHardwareDataType": german, "mount": "/dev/disk6s1 on /Volumes/STICK (" + options + ")\n",
		}})
		at := slices.IndexFunc(r.Asset.Storage.Volumes, func(v assets.VolumeRow) bool { return v.Mountpoint == "/Volumes/STICK" })
		if at < 0 || r.Asset.Storage.Volumes[at].ReadOnly == nil || *r.Asset.Storage.Volumes[at].ReadOnly != want {
			t.Errorf("%s: %+v", options, r.Asset.Storage.Volumes)
		}
	}
}
