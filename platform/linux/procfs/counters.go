// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
)

// DiskTraffic holds what was read from and written to block devices since boot, in bytes. The kernel
// counts each request once, however many layers (LVM, RAID, encryption) it goes through.
type DiskTraffic struct {
	Read, Written uint64
}

// DiskTraffic reads pgpgin and pgpgout of /proc/vmstat.
func (fs FS) DiskTraffic() (DiskTraffic, error) { return readWith(fs, parseDiskTraffic, "vmstat") }

// parseDiskTraffic converts from KiB, in which the kernel shows both (vmstat_start in mm/vmstat.c).
func parseDiskTraffic(b []byte) (DiskTraffic, error) {
	var t DiskTraffic
	wanted := map[string]*uint64{"pgpgin": &t.Read, "pgpgout": &t.Written}
	for line := range lines(b) {
		name, value, _ := bytes.Cut(line, []byte(" "))
		to, ok := wanted[string(name)]
		if !ok {
			continue
		}
		n, ok := number(value)
		if !ok || n > 1<<53 {
			return DiskTraffic{}, fmt.Errorf("%s: %w", name, ErrFormat)
		}
		*to = n << 10
		delete(wanted, string(name))
	}
	if len(wanted) > 0 {
		return DiskTraffic{}, fmt.Errorf("pgpgin, pgpgout: %w", ErrFormat)
	}
	return t, nil
}

// TCP holds counters of /proc/net/snmp, by the names of RFC 4022.
type TCP struct {
	Established uint64 // CurrEstab: connections in state ESTABLISHED or CLOSE_WAIT now
	Sent        uint64 // OutSegs: segments since boot, without those sent again
	Resent      uint64 // RetransSegs: segments sent again since boot
}

// TCP reads the counters of the caller's network namespace.
func (fs FS) TCP() (TCP, error) { return readWith(fs, parseTCP, "net", "snmp") }

// parseTCP finds the columns by their titles: kernels have added some.
func parseTCP(b []byte) (TCP, error) {
	var titles [][]byte
	for line := range lines(b) {
		rest, ok := bytes.CutPrefix(line, []byte("Tcp: "))
		switch {
		case !ok:
		case titles == nil:
			titles = bytes.Fields(rest)
		default:
			return parseTCPColumns(titles, bytes.Fields(rest))
		}
	}
	return TCP{}, fmt.Errorf("counters of TCP: %w", ErrFormat)
}

func parseTCPColumns(titles, values [][]byte) (TCP, error) {
	var t TCP
	wanted := map[string]*uint64{"CurrEstab": &t.Established, "OutSegs": &t.Sent, "RetransSegs": &t.Resent}
	if len(titles) != len(values) {
		return TCP{}, fmt.Errorf("counters of TCP: %w", ErrFormat)
	}
	for i, title := range titles {
		to, ok := wanted[string(title)]
		if !ok {
			continue
		}
		if *to, ok = number(values[i]); !ok {
			return TCP{}, fmt.Errorf("%s: %w", title, ErrFormat)
		}
		delete(wanted, string(title))
	}
	if len(wanted) > 0 {
		return TCP{}, fmt.Errorf("counters of TCP: %w", ErrFormat)
	}
	return t, nil
}

// AllOpenFiles reads how many open files the whole system has from /proc/sys/fs/file-nr.
func (fs FS) AllOpenFiles() (uint64, error) {
	return readWith(fs, parseAllOpenFiles, "sys", "fs", "file-nr")
}

func parseAllOpenFiles(b []byte) (uint64, error) {
	fields := bytes.Fields(b)
	if len(fields) != 3 || !bytes.HasSuffix(b, []byte("\n")) {
		return 0, ErrFormat
	}
	n, ok := number(fields[0])
	if !ok {
		return 0, ErrFormat
	}
	return n, nil
}
