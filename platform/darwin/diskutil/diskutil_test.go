// SPDX-License-Identifier: Apache-2.0

package diskutil

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/platform/darwin/plist"
)

const macs = "../../../testdata/macs/"

func machine(t *testing.T, name string) *replay.Machine {
	t.Helper()
	m, err := replay.OpenMachine(macs + name + "/exec")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMountedVolumesAreListed(t *testing.T) {
	got, err := Volumes(t.Context(), machine(t, "intel-12"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 250685575168
	want := []Volume{
		{Device: "disk1s1", BaseDevice: "disk1s1", Mountpoint: "/System/Volumes/Data", Name: "Macintosh HD - Data", Container: "disk1", Size: size},
		{Device: "disk1s2", BaseDevice: "disk1s2", Mountpoint: "/System/Volumes/Preboot", Name: "Preboot", Container: "disk1", Size: size},
		{Device: "disk1s4", BaseDevice: "disk1s4", Mountpoint: "/System/Volumes/VM", Name: "VM", Container: "disk1", Size: size, Internal: true},
		{Device: "disk1s5s1", BaseDevice: "disk1s5", Mountpoint: "/", Name: "Macintosh HD", Container: "disk1", Size: size, Snapshot: true},
		{Device: "disk2s2", BaseDevice: "disk2s2", Mountpoint: "/Volumes/Old Backup", Name: "Old Backup", Content: "Apple_HFS", Size: 499763888128},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestContainersAreListed(t *testing.T) {
	got, err := Containers(t.Context(), machine(t, "m4-26"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Reference != "disk3" || got[0].Size != 494384795648 || *got[0].Free != 251658240000 || len(got[0].Volumes) != 4 {
		t.Fatalf("%+v", got)
	}
	data := got[0].Volumes[2]
	if data.Device != "disk3s5" || !data.HasRole("Data") || data.HasRole("System") || data.FileVault == nil || !*data.FileVault || data.InUse != 220000000000 {
		t.Errorf("%+v", data)
	}
}

func TestWhatIsNotEncryptedIsNotLockedByFileVault(t *testing.T) {
	const volume = "<dict><key>Containers</key><array><dict><key>ContainerReference</key><string>disk1</string><key>CapacityCeiling</key><integer>9</integer>" +
		"<key>Volumes</key><array><dict>%</dict></array></dict></array></dict>"
	for keys, want := range map[string]*bool{
		"":                              nil,
		"<key>Encryption</key><true/>":  nil,
		"<key>Encryption</key><false/>": new(false),
		"<key>Encryption</key><true/><key>FileVault</key><false/>": new(false),
		"<key>Encryption</key><true/><key>FileVault</key><true/>":  new(true),
	} {
		list, err := ParseContainers([]byte("<plist>" + strings.Replace(volume, "%", keys, 1) + "</plist>"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, list[0].Volumes[0].FileVault); diff != "" {
			t.Errorf("%s: %s", keys, diff)
		}
	}
}

func TestWhatIsNoListIsAnError(t *testing.T) {
	for name, printed := range map[string]string{
		"empty":                        "",
		"a word":                       "error",
		"an empty list":                "<plist/>",
		"an empty dictionary":          "<plist><dict/></plist>",
		"another language":             "Das ist nicht erlaubt.",
		"cut":                          `<?xml version="1.0"?><plist version="1.0"><dict><key>Containers</key><array>`,
		"a container without a size":   "<plist><dict><key>Containers</key><array><dict><key>ContainerReference</key><string>disk1</string></dict></array></dict></plist>",
		"more free than there is":      "<plist><dict><key>Containers</key><array><dict><key>ContainerReference</key><string>disk1</string><key>CapacityCeiling</key><integer>1</integer><key>CapacityFree</key><integer>2</integer></dict></array></dict></plist>",
		"negative sizes":               "<plist><dict><key>Containers</key><array><dict><key>CapacityCeiling</key><integer>-1</integer></dict></array></dict></plist>",
		"another type in place of one": "<plist><dict><key>AllDisksAndPartitions</key><string>x</string><key>Containers</key><string>x</string></dict></plist>",
	} {
		if list, err := ParseList([]byte(printed)); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
		if list, err := ParseContainers([]byte(printed)); err == nil {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

func TestARefusalKeepsItsWords(t *testing.T) {
	const printed = "<plist><dict><key>Error</key><true/><key>ErrorMessage</key><string>Could not find disk: x</string><key>ExitCode</key><integer>1</integer></dict></plist>"
	var no Refusal
	if _, err := ParseList([]byte(printed)); !errors.As(err, &no) || no.Message != "Could not find disk: x" {
		t.Errorf("%v", err)
	}
	if _, err := ParseContainers([]byte(printed)); !errors.As(err, &no) {
		t.Errorf("%v", err)
	}
}

// A failing is a Runner with one kind of failure.
type failing struct {
	result sysexec.Result
	err    error
}

// Run implements [sysexec.Runner].
func (f failing) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 {
		return sysexec.Result{}, errors.New("no limit")
	}
	return f.result, f.err
}

func TestAProgramThatFailsIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		failing
		is error
	}{
		"missing":          {failing{err: fs.ErrNotExist}, fs.ErrNotExist},
		"hang":             {failing{err: context.DeadlineExceeded}, context.DeadlineExceeded},
		"flood":            {failing{err: sysexec.ErrOutputTooLarge}, sysexec.ErrOutputTooLarge},
		"silent":           {failing{}, plist.ErrNoList},
		"words on stderr":  {failing{result: sysexec.Result{Exit: 1, Stderr: []byte("x")}}, nil},
		"a list on stderr": {failing{result: sysexec.Result{Stderr: []byte("<plist><dict><key>Containers</key><array/></dict></plist>")}}, plist.ErrNoList},
	} {
		for _, err := range []error{second(Volumes(t.Context(), test.failing)), second(Containers(t.Context(), test.failing))} {
			if err == nil || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestRecordedOutputs(t *testing.T) {
	for _, r := range testenv.RecordedOutputs(t, "diskutil") {
		mounted, listErr := ParseList(r.Raw)
		containers, apfsErr := ParseContainers(r.Raw)
		switch r.Name {
		case "list-plist-apple-silicon.plist":
			root, data := 0, 0
			for _, v := range mounted {
				switch {
				case v.Mountpoint == "/" && v.Device == "disk3s1s1" && v.Container == "disk3" && v.Size == 1995218165760:
					root++
				case v.Mountpoint == "/System/Volumes/Data" && v.BaseDevice == "disk3s5":
					data++
				}
			}
			if listErr != nil || root != 2 || data != 1 { // the snapshot is listed below its volume and again beside it
				t.Errorf("%s: %+v, %v", r.Name, mounted, listErr)
			}
		case "apfs-list-plist-apple-silicon.plist":
			last := containers[len(containers)-1]
			if apfsErr != nil || len(containers) != 3 || *last.Free != 1897427308544 || len(last.Volumes) != 7 || !*last.Volumes[4].FileVault || *last.Volumes[5].FileVault {
				t.Errorf("%s: %+v, %v", r.Name, containers, apfsErr)
			}
		case "info-plist-not-found.plist":
			if want := (Refusal{"Could not find disk: diskZZ"}); !errors.Is(listErr, want) || !errors.Is(apfsErr, want) {
				t.Errorf("%s: %v, %v", r.Name, listErr, apfsErr)
			}
		default:
			isList, isAPFS := bytes.Contains(r.Raw, []byte("<key>AllDisksAndPartitions</key>")), bytes.Contains(r.Raw, []byte("<key>Containers</key>"))
			if (listErr == nil || errors.As(listErr, new(Unplaced))) != isList || (apfsErr == nil) != isAPFS {
				t.Errorf("%s: %+v, %+v", r.Name, mounted, containers)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("<plist><dict><key>AllDisksAndPartitions</key><array><dict><key>MountPoint</key><string>/</string></dict></array><key>Containers</key><array/></dict></plist>"))
	f.Fuzz(func(t *testing.T, printed []byte) {
		mounted, err := ParseList(printed)
		if err != nil && mounted != nil && !errors.As(err, new(Unplaced)) {
			t.Error("a list and an error")
		}
		for _, v := range mounted {
			if v.Mountpoint == "" || v.Device == "" {
				t.Errorf("%+v", v)
			}
		}
		containers, _ := ParseContainers(printed)
		for _, c := range containers {
			if c.Free != nil && *c.Free > c.Size {
				t.Errorf("%+v", c)
			}
		}
	})
}

// A list that came before a failure is no list, and a refusal says why.
func TestWhatDiskutilPrintsBeforeItFailsIsNoList(t *testing.T) {
	const container = `<plist version="1.0"><dict><key>Containers</key><array/></dict></plist>`
	const refused = `<plist version="1.0"><dict><key>Error</key><true/><key>ErrorMessage</key><string>no</string></dict></plist>`
	for printed, want := range map[string]string{container: "ended with 1", "": "ended with 1", refused: "diskutil: no"} {
		runner := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(printed), Exit: 1}}}
		if got, err := Containers(t.Context(), runner); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", printed, got, err)
		}
	}
}

func TestAMountedVolumeWithoutAPlaceIsNamed(t *testing.T) {
	const list = `<plist version="1.0"><dict><key>AllDisksAndPartitions</key><array><dict><key>DeviceIdentifier</key><string>disk6</string><key>Partitions</key>` +
		`<array><dict><key>DeviceIdentifier</key><string>disk6s1</string><key>MountPoint</key><string>/Volumes/A</string><key>VolumeName</key><string>A</string></dict>` +
		`<dict><key>DeviceIdentifier</key><string>disk6s2</string><key>VolumeName</key><string>B</string></dict></array></dict></array>` +
		`<key>VolumesFromDisks</key><array><string>A</string><string>B</string></array></dict></plist>`
	mounted, err := ParseList([]byte(list))
	var lost Unplaced
	if !errors.As(err, &lost) || len(mounted) != 1 || strings.Join(lost.Names, ",") != "B" {
		t.Errorf("%+v, %v", mounted, err)
	}
}
