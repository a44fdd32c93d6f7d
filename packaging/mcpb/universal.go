// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"fmt"
)

// sliceAlign is the alignment of every program in a universal one, as a power
// of two: the page of arm64, which is larger than that of amd64.
const sliceAlign = 14

// universal joins programs for several processors into one that macOS runs on
// each, as lipo(1) does: a table in front of the unchanged programs with their signatures
// (mach-o/fat.h).
func universal(programs [][]byte) ([]byte, error) {
	var table []macho.FatArchHeader
	at := uint32(1) << sliceAlign
	for _, program := range programs {
		f, err := macho.NewFile(bytes.NewReader(program))
		if err != nil {
			return nil, err
		}
		for _, other := range table {
			if other.Cpu == f.Cpu {
				return nil, fmt.Errorf("two programs for %v", f.Cpu)
			}
		}
		size := uint32(len(program))
		table = append(table, macho.FatArchHeader{Cpu: f.Cpu, SubCpu: f.SubCpu, Offset: at, Size: size, Align: sliceAlign})
		at = (at + size + 1<<sliceAlign - 1) >> sliceAlign << sliceAlign
	}
	var joined bytes.Buffer
	for _, part := range []any{macho.MagicFat, uint32(len(table)), table} {
		if err := binary.Write(&joined, binary.BigEndian, part); err != nil {
			return nil, err
		}
	}
	for i, program := range programs {
		joined.Write(make([]byte, int(table[i].Offset)-joined.Len()))
		joined.Write(program)
	}
	return joined.Bytes(), nil
}
