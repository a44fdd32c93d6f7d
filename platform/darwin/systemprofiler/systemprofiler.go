// SPDX-License-Identifier: Apache-2.0

// Package systemprofiler reads the hardware and the mounted volumes of a Mac from
// system_profiler(8).
package systemprofiler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
)

const (
	program = "/usr/sbin/system_profiler"
	// limit bounds the run. It takes a third of a second, and longer if a disk has to spin up.
	limit     = 7 * time.Second
	waitDelay = 200 * time.Millisecond
	// maxVolumes bounds how many volumes are read.
	maxVolumes = 4096
	maxOutput  = 8 << 20 // bytes
)

// ErrNone reports output without a report.
var ErrNone = errors.New("system_profiler printed no report")

// A Report holds the sections of system_profiler that sentinel needs.
type Report struct {
	Hardware Hardware
	Storage  []Volume
}

// Hardware is the data type SPHardwareDataType. An unknown field is empty.
type Hardware struct {
	Name   string // "MacBook Pro"
	Model  string // "MacBookPro18,3"
	Chip   string // "Apple M1 Pro", "6-Core Intel Core i7"
	Memory string // "16 GB"
	Serial string
	UUID   string // of the platform; confidential, like a machine ID
	Cores  Cores
	// Packages is the number of processor packages; 0 on Apple silicon, which does not report it.
	Packages int
}

// Cores counts the processor cores. An unknown number is 0.
type Cores struct {
	Total                   int
	Performance, Efficiency int // 0 on Intel, and if there are more than these two kinds
}

// A Volume is an entry of the data type SPStorageDataType, a mounted volume.
type Volume struct {
	Device     string // "disk4s1"
	Mountpoint string
	FileSystem string // "APFS", "MS-DOS FAT32"
	Size, Free uint64 // bytes; Size is 0 if either is unknown
	ReadOnly   *bool  // nil is unknown, as where the word for it is in another language
}

// english asks a program of macOS for English, whatever its user's language: its
// defaults can be set by arguments (NSUserDefaults, the argument domain).
var english = []string{"-AppleLanguages", "(en)"}

// Ask runs system_profiler for data types within a time limit and parses what it prints as JSON,
// some values of which follow the language of the user. It asks for English first; where that
// yields nothing that parse understands, it asks without. Standard error is ignored: on macOS 26 a
// log line is printed there.
func Ask[T any](ctx context.Context, runner sysexec.Runner, within time.Duration, parse func([]byte) (T, error), types ...string) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	plain := append([]string{"-json"}, types...)
	var value T
	var failure error
	for _, args := range [][]string{slices.Concat(plain, english), plain} {
		r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: within, WaitDelay: waitDelay, MaxOutput: maxOutput})
		if err != nil {
			return value, err
		}
		if value, failure = parse(r.Stdout); failure == nil && r.Exit == 0 {
			return value, nil
		}
		if failure == nil {
			value, failure = *new(T), fmt.Errorf("system_profiler ended with status %d", r.Exit)
		}
	}
	return value, failure
}

// Read reads the hardware and the volumes.
func Read(ctx context.Context, runner sysexec.Runner) (Report, error) {
	return Ask(ctx, runner, limit, Parse, "SPHardwareDataType", "SPStorageDataType")
}

// document is the JSON of system_profiler (macOS 10.15 to 26).
type document struct {
	Hardware []hardware `json:"SPHardwareDataType"`
	Storage  []storage  `json:"SPStorageDataType"`
}

type hardware struct {
	Name       text            `json:"machine_name"`
	Model      text            `json:"machine_model"`
	Chip       text            `json:"chip_type"`
	Processor  text            `json:"cpu_type"` // Intel
	Memory     text            `json:"physical_memory"`
	Serial     text            `json:"serial_number"`
	UUID       text            `json:"platform_UUID"`
	Processors json.RawMessage `json:"number_processors"`
	Packages   json.RawMessage `json:"packages"`
}

type storage struct {
	Device     text   `json:"bsd_name"`
	Mountpoint text   `json:"mount_point"`
	FileSystem text   `json:"file_system"`
	Size       number `json:"size_in_bytes"`
	Free       number `json:"free_space_in_bytes"`
	Writable   text   `json:"writable"`
}

// text is a string, or empty for a value of any other type: one unexpected value
// must not fail the whole report.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(strings.TrimSpace(s))
	}
	return nil
}

// number is likewise an unsigned number, or unknown for any other value.
type number struct {
	value uint64
	known bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(raw []byte) error {
	v, err := strconv.ParseUint(string(raw), 10, 64)
	*n = number{v, err == nil}
	return nil
}

// Parse parses the output of "system_profiler -json". Lines before the report are skipped.
func Parse(printed []byte) (Report, error) {
	begin := bytes.IndexByte(printed, '{')
	if begin < 0 {
		return Report{}, ErrNone
	}
	var d document
	if err := json.Unmarshal(printed[begin:], &d); err != nil {
		return Report{}, fmt.Errorf("read the report of system_profiler: %w", err)
	}
	if len(d.Hardware) == 0 && len(d.Storage) == 0 {
		return Report{}, ErrNone
	}
	var r Report
	if len(d.Hardware) > 0 {
		r.Hardware = d.Hardware[0].convert()
	}
	for _, s := range d.Storage[:min(len(d.Storage), maxVolumes)] {
		r.Storage = append(r.Storage, s.convert())
	}
	return r, nil
}

func (h hardware) convert() Hardware {
	made := Hardware{
		Name: string(h.Name), Model: string(h.Model), Chip: string(h.Chip), Memory: string(h.Memory),
		Serial: string(h.Serial), UUID: string(h.UUID), Cores: cores(h.Processors),
	}
	if made.Chip == "" {
		made.Chip = string(h.Processor)
	}
	made.Packages, _ = count(string(h.Packages))
	return made
}

func (s storage) convert() Volume {
	v := Volume{
		Device: string(s.Device), Mountpoint: string(s.Mountpoint), FileSystem: string(s.FileSystem),
	}
	if s.Size.known && s.Free.known && s.Free.value <= s.Size.value {
		v.Size, v.Free = s.Size.value, s.Free.value
	}
	if s.Writable == "yes" || s.Writable == "no" {
		v.ReadOnly = new(s.Writable == "no")
	}
	return v
}

// cores reads number_processors. It is a number on Intel and in virtual machines, and "proc
// TOTAL:PERFORMANCE:EFFICIENCY" on Apple silicon. The meaning of four parts differs between chips
// and releases ("proc 18:6:0:12" of an M5 Max, "proc 24:16:8:0" of an M2 Ultra, "proc 12:0:8:4" of
// an M2 Pro), so only the total is used of those.
func cores(raw json.RawMessage) Cores {
	var words string
	if json.Unmarshal(raw, &words) != nil {
		words = string(raw)
	}
	parts := strings.Split(strings.TrimPrefix(words, "proc "), ":")
	numbers, sum := make([]int, len(parts)), 0
	for i, part := range parts {
		n, ok := count(part)
		if !ok {
			return Cores{}
		}
		if numbers[i] = n; i > 0 {
			sum += n
		}
	}
	switch {
	case len(numbers) == 3 && sum == numbers[0]:
		return Cores{Total: numbers[0], Performance: numbers[1], Efficiency: numbers[2]}
	case len(numbers) == 1 || sum == numbers[0]:
		return Cores{Total: numbers[0]}
	default:
		return Cores{}
	}
}

// count parses a small number of hardware parts.
func count(word string) (int, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 12)
	return int(n), err == nil
}
