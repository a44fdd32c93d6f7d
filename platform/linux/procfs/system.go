// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// LoadAverage holds the first three fields of /proc/loadavg: the average number
// of runnable and uninterruptible tasks over 1, 5 and 15 minutes.
type LoadAverage struct {
	One, Five, Fifteen float64
}

// LoadAverage reads /proc/loadavg.
func (fs FS) LoadAverage() (LoadAverage, error) { return readWith(fs, parseLoadAverage, "loadavg") }

func parseLoadAverage(b []byte) (LoadAverage, error) {
	fields := bytes.Fields(b)
	if len(fields) < 4 { // one more than is read, so that the third is complete
		return LoadAverage{}, ErrFormat
	}
	var l LoadAverage
	for i, to := range []*float64{&l.One, &l.Five, &l.Fifteen} {
		x, ok := float(fields[i])
		if !ok {
			return LoadAverage{}, fmt.Errorf("field %d: %w", i+1, ErrFormat)
		}
		*to = x
	}
	return l, nil
}

// Uptime reads the seconds since boot from /proc/uptime.
func (fs FS) Uptime() (float64, error) { return readWith(fs, parseUptime, "uptime") }

func parseUptime(b []byte) (float64, error) {
	fields := bytes.Fields(b)
	if len(fields) < 2 { // one more than is read, so that the first is complete
		return 0, ErrFormat
	}
	x, ok := float(fields[0])
	if !ok {
		return 0, ErrFormat
	}
	return x, nil
}

// Memory holds the fields of /proc/meminfo that sentinel needs, in bytes.
type Memory struct {
	Total     uint64
	Available uint64 // obtainable without swapping; kernel 3.14 and later
	SwapTotal uint64
	SwapFree  uint64
	// SwapCached is in memory again, and keeps its place in the swap space; 0 where it is not told.
	SwapCached uint64
	Shared     uint64 // in shared memory and files of a tmpfs, mapped or not; 0 where it is not told
	HugeUsed   uint64 // in huge pages of the default size that are not free
	// PageTables is what processes and guests need to find their memory; 0 where it is not told.
	PageTables uint64
	// Kernel is what the kernel and its drivers hold beside that, such as the buffers of sockets and pipes, zram and the
	// cache of ZFS; 0 where it is not told (before Linux 4.15).
	Kernel uint64
}

// Memory reads /proc/meminfo.
func (fs FS) Memory() (Memory, error) { return readWith(fs, parseMemory, "meminfo") }

// notOfKernel is what of all memory is free, of processes and files, given back when asked, or told apart.
var notOfKernel = []string{"MemFree", "Active", "Inactive", "Unevictable", "SReclaimable", "PageTables", "SecPageTables", "Hugetlb", "Zswap"}

// parseMemory requires what every machine has: a truncated file must not look like a machine
// without memory.
func parseMemory(b []byte) (Memory, error) {
	told, err := parseMeminfo(b)
	for _, name := range []string{"MemTotal", "MemAvailable", "SwapTotal", "SwapFree"} {
		if _, is := told[name]; err == nil && !is {
			err = ErrFormat
		}
	}
	m := Memory{
		Total: told["MemTotal"], Available: told["MemAvailable"], SwapTotal: told["SwapTotal"], SwapFree: told["SwapFree"],
		SwapCached: told["SwapCached"], Shared: told["Shmem"], HugeUsed: parseHugeUsed(b), PageTables: told["PageTables"] + told["SecPageTables"],
	}
	if err != nil || m.Total == 0 || m.Available > m.Total || m.SwapFree > m.SwapTotal {
		return Memory{}, cmp.Or(err, ErrFormat)
	}
	if _, is := told["Hugetlb"]; is {
		others := uint64(0)
		for _, name := range notOfKernel {
			others += told[name]
		}
		m.Kernel = m.Total - min(m.Total, others)
	}
	return m, nil
}

// parseMeminfo returns in bytes what [parseMemory] needs and is told.
func parseMeminfo(b []byte) (map[string]uint64, error) {
	wanted := append([]string{"MemTotal", "MemAvailable", "SwapTotal", "SwapFree", "SwapCached", "Shmem"}, notOfKernel...)
	told := map[string]uint64{}
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if len(fields) != 2 || string(fields[1]) != "kB" || !slices.Contains(wanted, string(name)) {
			continue
		}
		n, ok := number(fields[0])
		if !ok || n > 1<<53 {
			return nil, fmt.Errorf("%s: %w", name, ErrFormat)
		}
		told[string(name)] = n << 10
	}
	return told, nil
}

// parseHugeUsed returns 0 for a kernel without huge pages.
func parseHugeUsed(b []byte) uint64 {
	value := map[string]uint64{}
	for line := range lines(b) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		if fields := bytes.Fields(rest); len(fields) > 0 && bytes.HasPrefix(name, []byte("Huge")) {
			if n, ok := number(fields[0]); ok && n < 1<<26 {
				value[string(name)] = n
			}
		}
	}
	total, free := value["HugePages_Total"], value["HugePages_Free"]
	return (total - min(free, total)) * value["Hugepagesize"] << 10
}

// OOMKills reads oom_kill from /proc/vmstat: the number of processes that the kernel has killed
// since boot because memory ran out (kernel 4.13 and later).
func (fs FS) OOMKills() (uint64, error) { return readWith(fs, parseOOMKills, "vmstat") }

func parseOOMKills(b []byte) (uint64, error) {
	for line := range lines(b) {
		if value, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			if n, ok := number(value); ok {
				return n, nil
			}
			break
		}
	}
	return 0, fmt.Errorf("oom_kill: %w", ErrFormat)
}

// BootID reads the random id of this boot.
func (fs FS) BootID() (string, error) {
	return readWith(fs, parseBootID, "sys", "kernel", "random", "boot_id")
}

func parseBootID(b []byte) (string, error) {
	id := string(bytes.TrimSpace(b))
	if len(id) != 36 {
		return "", ErrFormat
	}
	for i, c := range []byte(id) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if dash != (c == '-') || !dash && !hex {
			return "", ErrFormat
		}
	}
	return id, nil
}

// KernelRelease reads the release of the running kernel, as uname -r shows it.
func (fs FS) KernelRelease() (string, error) {
	return readWith(fs, parseKernelRelease, "sys", "kernel", "osrelease")
}

// parseKernelRelease rejects a release that cannot be a file name, since it becomes part of paths.
func parseKernelRelease(b []byte) (string, error) {
	release := string(bytes.TrimSpace(b))
	if release == "" || len(release) > 64 || bytes.ContainsAny(b, "/\x00") {
		return "", ErrFormat
	}
	return release, nil
}
