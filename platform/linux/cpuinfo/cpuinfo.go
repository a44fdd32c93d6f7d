// SPDX-License-Identifier: Apache-2.0

// Package cpuinfo reads the kind of processor from /proc/cpuinfo.
//
// The file differs on every architecture; this package collects the field names that matter.
package cpuinfo

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxHead is how much of the file is read, in bytes: on a large machine the entries repeat, and on
// x86 the kernel measures the frequency of each processor as its entry is read.
const maxHead = 32 << 10

// maxCores bounds how many different kinds of core are named.
const maxCores = 4

// ErrFormat reports a file without a single field.
var ErrFormat = errors.New("unexpected format")

// Info holds the fields of /proc/cpuinfo that sentinel needs. A missing field is empty.
type Info struct {
	Model      string   // "Intel(R) Core(TM) i7-1165G7 @ 2.80GHz"
	Cores      []string // ARM: the kinds of core, "Cortex-A55", "Cortex-A76"
	Hardware   string   // 32-bit ARM: the system on chip, "BCM2835"
	Board      string   // ARM: "Raspberry Pi 4 Model B Rev 1.4"
	Hypervisor bool     // x86: the processor reports that it is virtual
}

// Read reads /proc/cpuinfo below root.
func Read(root string) (Info, error) {
	raw, err := hostfile.Head(filepath.Join(root, "proc/cpuinfo"), maxHead)
	if err != nil {
		return Info{}, err
	}
	if len(raw) == maxHead { // the last line may be cut
		raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	}
	return parse(raw)
}

// Chip returns the name of the processor for display, or "" if it has none.
func (i Info) Chip() string {
	if i.Model != "" {
		return i.Model
	}
	return strings.Join(i.Cores, " + ")
}

func parse(b []byte) (Info, error) {
	p := parser{implementer: -1}
	fields := 0
	for line := range bytes.Lines(b) {
		name, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		fields++
		p.field(strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value))
	}
	if fields == 0 {
		return Info{}, ErrFormat
	}
	return p.info(), nil
}

// A parser collects fields.
type parser struct {
	Info
	modelName   string // the value of "model name" or of the best field that stands in for it
	rank        int
	implementer int
}

// field takes one line. The names are those of x86 and 64-bit ARM, then
// LoongArch ("Model Name"), MIPS, POWER, RISC-V and s390.
func (p *parser) field(name, value string) {
	switch name {
	case "model name":
		p.candidate(value, 3)
	case "cpu model":
		p.candidate(value, 2)
	case "cpu", "uarch":
		p.candidate(value, 1)
	case "hardware":
		p.Hardware = value
	case "model":
		if strings.ContainsRune(value, ' ') { // a number on x86
			p.Board = value
		}
	case "cpu implementer":
		p.implementer = code(value)
	case "cpu part":
		p.core(code(value))
	case "flags":
		p.Hypervisor = p.Hypervisor || strings.Contains(" "+value+" ", " hypervisor ")
	}
}

func (p *parser) candidate(value string, rank int) {
	if rank > p.rank && value != "" {
		p.modelName, p.rank = value, rank
	}
}

func (p *parser) core(part int) {
	name := armCore(p.implementer, part)
	if name != "" && len(p.Cores) < maxCores && !slices.Contains(p.Cores, name) {
		p.Cores = append(p.Cores, name)
	}
}

// info chooses the model. The "model name" of ARM kernels only names the instruction set ("ARMv7
// Processor rev 3 (v7l)"); the core names say more.
func (p *parser) info() Info {
	p.Model = p.modelName
	if len(p.Cores) > 0 && strings.Contains(p.modelName, "Processor rev") {
		p.Model = ""
	}
	return p.Info
}

func code(s string) int {
	n, err := strconv.ParseUint(s, 0, 16)
	if err != nil {
		return -1
	}
	return int(n)
}
