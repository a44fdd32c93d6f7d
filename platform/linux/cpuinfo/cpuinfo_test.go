// SPDX-License-Identifier: Apache-2.0

package cpuinfo

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/platform/unix/hostfile"
)

func TestChipIsFoundOnEveryArchitecture(t *testing.T) {
	for _, c := range []struct {
		name, in, chip string
		want           Info
	}{
		{
			"x86 laptop", "processor\t: 0\nmodel\t\t: 140\nmodel name\t: Example(R) CPU @ 2.80GHz\nflags\t\t: fpu vme\n\nprocessor\t: 1\nmodel name\t: Other\n",
			"Example(R) CPU @ 2.80GHz", Info{Model: "Example(R) CPU @ 2.80GHz"},
		},
		{
			"x86 virtual machine", "model name\t: Example EPYC\nflags\t\t: fpu hypervisor lahf_lm\n",
			"Example EPYC", Info{Model: "Example EPYC", Hypervisor: true},
		},
		{
			"a flag that only contains the word", "model name: x\nflags: nohypervisor hypervisor2\n", "x", Info{Model: "x"},
		},
		{
			"64-bit Raspberry Pi", "processor\t: 0\nBogoMIPS\t: 108.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nprocessor: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nSerial\t\t: 1\nModel\t\t: Raspberry Pi 4 Model B Rev 1.4\n",
			"Cortex-A72", Info{Cores: []string{"Cortex-A72"}, Board: "Raspberry Pi 4 Model B Rev 1.4"},
		},
		{
			"32-bit ARM", "model name\t: ARMv7 Processor rev 3 (v7l)\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\nHardware\t: BCM2711\n",
			"Cortex-A72", Info{Cores: []string{"Cortex-A72"}, Hardware: "BCM2711"},
		},
		{
			"32-bit ARM with an unknown core", "model name\t: ARMv7 Processor rev 3 (v7l)\nCPU implementer\t: 0x41\nCPU part\t: 0xfff\n",
			"ARMv7 Processor rev 3 (v7l)", Info{Model: "ARMv7 Processor rev 3 (v7l)"},
		},
		{
			"big and little", "CPU implementer: 0x41\nCPU part: 0xd05\nCPU implementer: 0x41\nCPU part: 0xd0b\n",
			"Cortex-A55 + Cortex-A76", Info{Cores: []string{"Cortex-A55", "Cortex-A76"}},
		},
		{"the part of another maker", "CPU implementer: 0xc0\nCPU part: 0xac3\n", "Ampere-1", Info{Cores: []string{"Ampere-1"}}},
		{"LoongArch", "Model Name\t\t: Example-3A5000\n", "Example-3A5000", Info{Model: "Example-3A5000"}},
		{"POWER", "processor: 0\ncpu\t\t: POWER9, altivec supported\n", "POWER9, altivec supported", Info{Model: "POWER9, altivec supported"}},
		{"RISC-V", "hart: 1\nuarch\t: sifive,u74-mc\n", "sifive,u74-mc", Info{Model: "sifive,u74-mc"}},
		{"MIPS", "system type: x\ncpu model\t: MIPS 24Kc V7.4\n", "MIPS 24Kc V7.4", Info{Model: "MIPS 24Kc V7.4"}},
		{"nothing that names it", "processor: 0\n", "", Info{}},
	} {
		got, err := parse([]byte(c.in))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
		if got.Chip() != c.chip {
			t.Errorf("%s: chip %q, want %q", c.name, got.Chip(), c.chip)
		}
	}
	if _, err := parse([]byte("garbage\n")); !errors.Is(err, ErrFormat) {
		t.Errorf("garbage: %v", err)
	}
}

func TestOnlyTheHeadOfAHugeFileIsRead(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "proc/cpuinfo")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	block := "model name\t: Example\nflags\t: fpu " + strings.Repeat("x", 1000) + " hypervisor\n\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(block, 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(root); err != nil || got.Model != "Example" || !got.Hypervisor {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Read(t.TempDir()); !hostfile.Missing(err) {
		t.Errorf("no file: %v", err)
	}
}

func TestARMPartsAreListedOnce(t *testing.T) {
	seen := map[[2]int]string{}
	for _, p := range armParts {
		key := [2]int{p.implementer, p.part}
		if other, ok := seen[key]; ok || p.name == "" {
			t.Errorf("%x is both %q and %q", key, other, p.name)
		}
		seen[key] = p.name
	}
}

func FuzzCPUInfo(f *testing.F) {
	f.Add([]byte("model name: x\nflags: hypervisor\nCPU implementer: 0x41\nCPU part: 0xd08\nModel: a b\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, err := parse(b)
		if err == nil && (len(info.Cores) > maxCores || len(info.Model) > len(b)) {
			t.Errorf("%q gave %+v", b, info)
		}
	})
}
