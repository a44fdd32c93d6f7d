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
