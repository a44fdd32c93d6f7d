// SPDX-License-Identifier: Apache-2.0

package aptconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sentinel/internal/testenv"
)

// What apt itself makes of a file is what is read here.
func TestAddReadsAsAptDoes(t *testing.T) {
	program := testenv.Program(t, "apt-config", "apt")
	for _, text := range []string{
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
			t.Fatalf("%v: %s", err, out)
		}
		dumped, read := Options{}, Options{}
		if err := dumped.Add(out); err != nil {
			t.Fatal(err)
		}
		if err := read.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if len(read) == 0 {
			t.Errorf("%q: nothing read", text)
		}
		for name, value := range read {
			if dumped[name] != value {
				t.Errorf("%q: %s: apt says %q, read %q", text, name, dumped[name], value)
			}
		}
	}
}
