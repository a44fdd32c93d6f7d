// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

// What apt itself makes of a file is what is read here.
func TestAddReadsAsAptDoes(t *testing.T) {
	program := testenv.Program(t, "apt-config", "apt")
	other := filepath.Join(testenv.Plant(t, map[string]string{"a": `Sentinel::A "1"; Sentinel::B "1";`, "b.conf": `Sentinel::C "1";`, "c.save": `Sentinel::D "1";`}), "a")
	for _, text := range []string{
		"#include \"" + other + "\";\nSentinel::B \"2\";",
		" #include \"" + filepath.Dir(other) + "/\";\n#clear\nSentinel::B;",
		"Sentinel::A \"1\"; Sentinel::A::B \"2\"; Sentinel::AB \"3\";\n#clear Sentinel::A;",
		`Sentinel::Test "1"; sentinel::TEST "2";`,
		"Sentinel { Test \"1\"; Deep { Er \"x y\"; }; }; // end\nSentinel::Other \"a//b\";",
		"/* Sentinel::Test \"0\"; */\n# no\nSentinel::Test \"3\";",
		"Sentinel::Test\n\t\"4\";",
		`Sentinel::L { "x"; name "y"; }; sentinel::l:: "z"; Sentinel { L { "w"; }; };`,
		"Sentinel::L { \"x\"; };\n#clear Sentinel::L;\nSentinel::L:: \"y\"; Sentinel::Z \"1\";",
	} {
		file := filepath.Join(t.TempDir(), "apt.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), program, "-o", "Dir::Etc::parts=/nowhere", "-o", "Dir::Etc::main=nowhere", "-c", file, "dump", "--format", "%f \"%v\";%n", "Sentinel")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%q: %v: %s", text, err, out)
		}
		dumped, err := read(string(out))
		if err != nil {
			t.Fatal(err)
		}
		got := Options{}
		if err := got.AddFile(hostfile.Tree{Path: filepath.Clean, MaxFile: 1 << 20, MaxNames: 100}, file); err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			t.Errorf("%q: nothing read", text)
		}
		maps.DeleteFunc(dumped, func(_, value string) bool { return value == "" }) // what has others below it
		if diff := cmp.Diff(dumped, got); diff != "" {
			t.Errorf("%q: apt and what was read: %s", text, diff)
		}
	}
}

// apt takes the packages of an archive on this disk that nobody signed where it is to trust it, and no others.
func TestAptTrustsWhatIsReadAsTrusted(t *testing.T) {
	program := testenv.Program(t, "apt-get", "apt")
	root := testenv.Plant(t, map[string]string{"archive/Packages": "Package: x\nVersion: 1\nArchitecture: all\nFilename: x.deb\nSize: 1\nMaintainer: x\n\n", "parts/": "", "lists/partial/": "", "cache/archives/partial/": ""})
	for _, word := range []string{"with", "0x1", "7"} {
		for name, text := range trusting("file:"+root+"/archive", word) {
			file := filepath.Join(root, name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), program, "-o", "Dir::State="+root, "-o", "Dir::Cache="+root+"/cache", "-o", "Dir::State::status=/dev/null", "-o", "Dir::Etc::parts=/nowhere",
				"-o", "Dir::Etc::sourceparts="+root+"/parts", "-o", "Dir::Etc::sourcelist="+file, "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none", "update")
			out, err := command.CombinedOutput()
			if read := len(Unchecked(name, []byte(text))) > 0; read != (err == nil) {
				t.Errorf("%q: read as %v, and apt says: %v %s", text, read, err, out)
			}
		}
	}
}
