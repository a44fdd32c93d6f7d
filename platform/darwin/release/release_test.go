// SPDX-License-Identifier: Apache-2.0

package release

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

const macs = "../../../testdata/macs/"

// A said is a Runner with the output of one program.
type said struct {
	stdout, stderr string
	err            error
}

// Run implements [sysexec.Runner].
func (s said) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	if c.Timeout == 0 || c.MaxOutput == 0 {
		return sysexec.Result{}, errors.New("no bounds")
	}
	return sysexec.Result{Stdout: []byte(s.stdout), Stderr: []byte(s.stderr)}, s.err
}

func TestTheMacsOfTheTestsAreKnown(t *testing.T) {
	for name, want := range map[string]struct {
		os     OS
		kernel Kernel
	}{
		"m4-26":    {OS{"macOS", "26.6", "", "25G72"}, Kernel{"mbp.example.com", "25.6.0", "arm64"}},
		"intel-12": {OS{"macOS", "12.7.6", "", "21H1320"}, Kernel{"mbp16.example.com", "21.6.0", "x86_64"}},
	} {
		m, err := replay.OpenMachine(macs + name + "/exec")
		if err != nil {
			t.Fatal(err)
		}
		if o, err := Read(t.Context(), m, "/nonexistent"); o != want.os || err != nil {
			t.Errorf("%+v, %v", o, err)
		}
		if o, err := Read(t.Context(), said{err: fs.ErrNotExist}, macs+name+"/root"); o != want.os || err != nil {
			t.Errorf("from the file: %+v, %v", o, err)
		}
		if k, err := ReadKernel(t.Context(), m); k != want.kernel || err != nil {
			t.Errorf("%+v, %v", k, err)
		}
	}
}

func TestARapidSecurityResponseIsShown(t *testing.T) {
	o, err := ParseVersion([]byte("ProductName:\tmacOS\nProductVersion:\t13.3.1\nProductVersionExtra:\t(a)\nBuildVersion:\t22E772610a\n"))
	if err != nil || o.Full() != "13.3.1 (a)" || o.String() != "macOS 13.3.1 (a) (22E772610a)" {
		t.Errorf("%+v, %v", o, err)
	}
	if text := (OS{Version: "26.6"}).String(); text != "26.6" {
		t.Error(text)
	}
}

func TestWhatIsNoVersionIsAnError(t *testing.T) {
	for _, printed := range []string{"", "26.5\n", "ProductName:\tmacOS\nProductVersion:\t26.6\n", "ProductName:\tmacOS\nProductVersion:\t26.6\nBuildVersion:\t25G", "Nicht erlaubt\n"} {
		if o, err := ParseVersion([]byte(printed)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %+v, %v", printed, o, err)
		}
		if o, err := Read(t.Context(), said{stderr: printed}, t.TempDir()); err == nil {
			t.Errorf("%q: %+v", printed, o)
		}
	}
	for name, content := range map[string]string{"empty": "", "no list": "macOS", "no version": "<plist><dict/></plist>"} {
		root := testenv.Plant(t, map[string]string{versionFile: content})
		if o, err := Read(t.Context(), said{}, root); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestWhyNothingIsKnownIsTheProgramsReason(t *testing.T) {
	if _, err := Read(t.Context(), said{err: context.DeadlineExceeded}, t.TempDir()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, err := ReadKernel(t.Context(), said{err: context.DeadlineExceeded}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoKernelIsAnError(t *testing.T) {
	for _, printed := range []string{"", "Darwin\n", "Linux host 6.1 #1 x86_64\n", "Darwin host 25.6.0 Darwin Kernel Version 25.6.0: Sat"} {
		if k, err := ParseKernel([]byte(printed)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %+v, %v", printed, k, err)
		}
	}
}

// To an Intel program under Rosetta the machine claims to be an Intel one.
func TestRosettaDoesNotHideTheMachine(t *testing.T) {
	k, err := ParseKernel([]byte("Darwin h 25.6.0 Darwin Kernel Version 25.6.0: Sat Jul 11 15:26:29 PDT 2026; root:xnu-1~4/RELEASE_ARM64_T8132 x86_64\n"))
	if k.Machine != "arm64" || err != nil {
		t.Errorf("%+v, %v", k, err)
	}
}

func TestRecordedOutputs(t *testing.T) {
	versions := map[string]string{
		"sierra-10.12.txt":                "Mac OS X 10.12 (16A239j)",
		"ventura-13.3-extra-a-spaces.txt": "macOS 13.3 (a) (22E252)",
		"ventura-13.3-spaces.txt":         "macOS 13.3 (22E252)",
		"ventura-13.3.1-a-rsr.txt":        "macOS 13.3.1 (a) (22E772610a)",
	}
	for _, r := range testenv.RecordedOutputs(t, "sw-vers") {
		o, err := ParseVersion(r.Raw)
		switch want, known := versions[r.Name]; {
		case known && (o.String() != want || err != nil):
			t.Errorf("%s: %v, %v", r.Name, o, err)
		case r.Name == "systemversion-plist-13.3.1.plist":
			root := testenv.Plant(t, map[string]string{versionFile: string(r.Raw)})
			if o, err := Read(t.Context(), said{}, root); o.String() != "macOS 13.3.1 (22E261)" || err != nil {
				t.Errorf("%s: %v, %v", r.Name, o, err)
			}
		case !known && (err == nil) != (strings.Contains("\n"+string(r.Raw), "\nProductName:") && strings.Contains(string(r.Raw), "\nBuildVersion:")):
			t.Errorf("%s: %v", r.Name, o)
		}
	}
	kernels := map[string]Kernel{
		"a-el-capitan-intel.txt": {"Kellys-Air.attlocal.net", "15.6.0", "x86_64"}, "a-mojave-intel.txt": {"kbrazil-mac", "18.7.0", "x86_64"},
		"a-tahoe-26.6-m4.txt": {"ALC00648", "25.6.0", "arm64"},
	}
	for _, r := range testenv.RecordedOutputs(t, "uname") {
		if k, err := ParseKernel(r.Raw); kernels[r.Name] != (Kernel{}) && (k != kernels[r.Name] || err != nil) {
			t.Errorf("%s: %+v, %v", r.Name, k, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ProductName:\tmacOS\nProductVersion:\t26.6\nBuildVersion:\t25G72\n")
	f.Add("Darwin h 25.6.0 Darwin Kernel Version /RELEASE_ARM64_T8132 arm64\n")
	f.Fuzz(func(t *testing.T, printed string) {
		if o, err := ParseVersion([]byte(printed)); err == nil && (o.Version == "" || o.Build == "") {
			t.Errorf("%+v", o)
		}
		if k, err := ParseKernel([]byte(printed)); err == nil && (k.Release == "" || k.Machine == "") {
			t.Errorf("%+v", k)
		}
	})
}
