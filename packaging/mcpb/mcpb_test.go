// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"debug/macho"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/version"
)

var update = flag.Bool("update", false, "rewrite the manifest")

func TestManifestIsThatOfTheTable(t *testing.T) {
	got, err := encode(newManifest("darwin"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("manifest.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("make golden rewrites it (-file +table):\n%s", diff)
	}
}

// built returns a program for macOS as the linker writes it.
func built(t *testing.T, architecture string) []byte {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "out"), source)
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH="+architecture, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestUniversalProgramHoldsBothAsTheyAre(t *testing.T) {
	intel, apple := built(t, "amd64"), built(t, "arm64")
	joined, err := universal([][]byte{intel, apple})
	if err != nil {
		t.Fatal(err)
	}
	f, err := macho.NewFatFile(bytes.NewReader(joined))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		cpu macho.Cpu
		raw []byte
	}{{macho.CpuAmd64, intel}, {macho.CpuArm64, apple}} {
		a := f.Arches[i]
		if a.Cpu != want.cpu || a.Offset%(1<<14) != 0 || !bytes.Equal(joined[a.Offset:a.Offset+a.Size], want.raw) {
			t.Errorf("%d: %+v", i, a.FatArchHeader)
		}
	}
	signed := false
	for _, l := range f.Arches[1].Loads {
		signed = signed || l.Raw()[0] == 0x1d // LC_CODE_SIGNATURE, without which macOS runs nothing on arm64
	}
	if !signed {
		t.Error("the program for arm64 is not signed")
	}
}

func TestUniversalRefusesWhatIsNoProgramOfMacOS(t *testing.T) {
	intel := built(t, "amd64")
	for name, all := range map[string][][]byte{"text": {intel, []byte("#!/bin/sh\n")}, "nothing": {nil, intel}, "twice": {intel, intel}} {
		if _, err := universal(all); err == nil {
			t.Errorf("%s is joined", name)
		}
	}
}

// programs creates the input directory of run.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for directory, raw := range map[string][]byte{
		"darwin-amd64": built(t, "amd64"), "darwin-arm64": built(t, "arm64"), "linux-amd64": []byte("amd64"), "linux-arm64": []byte("arm64"),
	} {
		for _, name := range []string{"sentinel", "sentinel-mcp"} {
			if err := os.MkdirAll(filepath.Join(dir, directory), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, directory, name), raw, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestBundlesAreTheSameEveryTime(t *testing.T) {
	t.Chdir("../..")
	from, first, second := programs(t), t.TempDir(), t.TempDir()
	for _, into := range []string{first, second} {
		if status := run([]string{from, into}, t.Output()); status != 0 {
			t.Fatalf("status %d", status)
		}
	}
	for _, name := range []string{"macos", "linux-amd64", "linux-arm64"} {
		file := "sentinel-" + version.Number + "-" + name + ".mcpb"
		one, err := os.ReadFile(filepath.Join(first, file))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(second, file))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs, %v", file, err)
		}
		z, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range z.File {
			got = append(got, f.Mode().String()+" "+f.Name)
		}
		want := []string{"-rw-r--r-- manifest.json", "-rwxr-xr-x server/sentinel", "-rwxr-xr-x server/sentinel-mcp", "-rw-r--r-- LICENSE", "-rw-r--r-- icon.png"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
		if platform, _, _ := strings.Cut(strings.ReplaceAll(name, "macos", "darwin"), "-"); !strings.Contains(inside(t, z, "manifest.json"), "\"platforms\": [\n      \""+platform+"\"\n") {
			t.Errorf("%s is not for %s", file, platform)
		}
	}
}

func inside(t *testing.T, z *zip.Reader, name string) string {
	t.Helper()
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestMissingProgramEndsIt(t *testing.T) {
	t.Chdir("../..")
	for _, args := range [][]string{{}, {"one"}, {t.TempDir(), t.TempDir()}, {"a", "b", "c"}} {
		var said strings.Builder
		if status := run(args, &said); status == 0 || said.Len() == 0 {
			t.Errorf("%v: status %d, %q", args, status, said.String())
		}
	}
}
