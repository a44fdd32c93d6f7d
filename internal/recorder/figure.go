// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"fmt"
	"math"
	"slices"

	"sentinel/internal/humanize"
)

// A Figure is one number of each sample.
type Figure struct {
	Key  string
	Name string // begins a sentence
	Unit string // "%", "B/s", "°C", "ms", or "" for what is counted
	Help string // what it is, a line without a full stop
	// A rise is worth telling from step above what is usual, if that is also factor times of it.
	step, factor float64
	places       int // decimals that are kept
}

// Figures lists them in the order of the documentation.
func Figures() []Figure {
	return []Figure{
		{"load", "Load", "", "load average of one minute", 1, 2, 2},
		{"cpu", "Use of the processor", "%", "of all cores", 25, 1.5, 1},
		{"iowait", "Waiting for disks", "%", "of all cores, idle while a task waited for a disk", 15, 1.5, 1},
		{"steal", "Stolen processor time", "%", "of all cores, given to other machines by the host", 10, 1.5, 1},
		{"memory", "Use of memory", "%", "that is not available", 10, 1.1, 1},
		{"swap", "Use of swap space", "%", "of the swap space", 10, 1.1, 1},
		{"pressure_cpu", "Waiting for the processor", "%", "of a minute in which some task waited for a processor", 20, 1.5, 1},
		{"pressure_memory", "Waiting for memory", "%", "of a minute in which all tasks waited for memory", 5, 1.5, 1},
		{"pressure_io", "Waiting for input and output", "%", "of a minute in which all tasks waited for disks", 10, 1.5, 1},
		{"disk", "Use of the fullest file system", "%", "of the space of the fullest file system", 3, 1.02, 1},
		{"inodes", "Use of inodes", "%", "of the inodes of the file system with the fewest left", 3, 1.02, 1},
		{"disk_read", "Reading from disks", "B/s", "from all disks", 10 << 20, 2, 0},
		{"disk_write", "Writing to disks", "B/s", "to all disks", 10 << 20, 2, 0},
		{"network_in", "Receiving", "B/s", "by all interfaces but loopback", 1 << 20, 2, 0},
		{"network_out", "Sending", "B/s", "by all interfaces but loopback", 1 << 20, 2, 0},
		{"connections", "The number of TCP connections", "", "established TCP connections", 50, 2, 0},
		{"retransmits", "Sending again", "%", "of TCP segments that had to be sent again", 2, 2, 2},
		{"temperature", "The temperature of the processor", "°C", "of the processor", 10, 1.1, 1},
		{"processes", "The number of processes", "", "processes", 50, 1.3, 0},
		{"zombies", "The number of zombies", "", "processes that have ended and wait for their parent to notice", 5, 1.5, 0},
		{"open_files", "The number of open files", "", "open files of all processes", 5000, 1.5, 0},
		{"failed_units", "The number of failed units", "", "units of the service manager in state failed", 1, 1.01, 0},
		{"resolver_ms", "The time of the resolver", "ms", "until a name server answered", 300, 3, 0},
	}
}

// Keys lists the keys of all figures.
func Keys() []string {
	var keys []string
	for _, f := range Figures() {
		keys = append(keys, f.Key)
	}
	return keys
}

func figureOf(key string) Figure {
	all := Figures()
	return all[slices.IndexFunc(all, func(f Figure) bool { return f.Key == key })]
}

// set stores a value that may be unknown.
func (s *Sample) set(key string, value *float64) {
	if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
		return
	}
	scale := math.Pow10(figureOf(key).places)
	s.Figures[key] = math.Round(*value*scale) / scale
}

// text shows a value with its unit.
func (f Figure) text(x float64) string {
	switch {
	case f.Unit == "B/s":
		return humanize.Bytes(uint64(max(0, x))) + "/s"
	case f.Unit == "%" && x < 10:
		return fmt.Sprintf("%.1f %%", x)
	case f.Unit != "":
		return fmt.Sprintf("%.0f %s", x, f.Unit)
	case f.places > 0:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}
