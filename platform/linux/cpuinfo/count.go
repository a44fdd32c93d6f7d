// SPDX-License-Identifier: Apache-2.0

package cpuinfo

import (
	"bytes"
	"path/filepath"
	"strconv"

	"sentinel/platform/unix/hostfile"
)

// maxFile bounds the whole file, in bytes: a processor takes about two kilobytes, and the kernel
// supports at most 8192.
const maxFile = 32 << 20

// Count counts the processors that are online, each of which has an entry in
// /proc/cpuinfo. It reads the whole file, which is slow on x86.
func Count(root string) (int, error) {
	raw, err := hostfile.Read(filepath.Join(root, "proc/cpuinfo"), maxFile)
	if err != nil {
		return 0, err
	}
	return parseCount(raw)
}

// parseCount counts lines like "processor : 0", or "processor 0: version = FF" on s390. 32-bit ARM
// also has a "Processor" line with a name.
func parseCount(b []byte) (int, error) {
	n := 0
	for line := range bytes.Lines(b) {
		rest, ok := bytes.CutPrefix(line, []byte("processor"))
		name, value, colon := bytes.Cut(rest, []byte(":"))
		if ok && colon && (number(name) || len(bytes.TrimSpace(name)) == 0 && number(value)) {
			n++
		}
	}
	if n == 0 {
		return 0, ErrFormat
	}
	return n, nil
}

func number(b []byte) bool {
	_, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 16)
	return err == nil
}
