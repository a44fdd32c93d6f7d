// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// A dirHandle is an open directory, read with raw system calls: os.File costs an
// allocation, a finalizer and the poller for each of thousands of files.
type dirHandle int

func openDir(path string) (dirHandle, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return dirHandle(fd), nil
}

func (d dirHandle) close() { unix.Close(int(d)) } //nolint:errcheck // only read from

// open opens the file or directory pid+name below d.
func (d dirHandle) open(pid int, name string, flags int) (int, error) {
	return retry(func() (int, error) { return openat(int(d), pid, name, flags) })
}

// search looks up what is not there in the directory of a process, which waits while a user keeps that from being
// searched. The names of what is there may be in the kernel's cache, which takes no waiting.
func (d dirHandle) search(pid int) {
	if fd, err := d.open(pid, "/-", unix.O_PATH|unix.O_CLOEXEC); err == nil {
		unix.Close(fd) //nolint:errcheck // nothing was written
	}
}

// directoryBuffer is enough for the records of about a thousand entries, in bytes.
const directoryBuffer = 32 << 10

// numbers appends the entries of d whose names are decimal numbers.
func (d dirHandle) numbers(to []int) ([]int, error) {
	return d.numbersWith(make([]byte, directoryBuffer), to)
}

// numbersWith is numbers with a buffer that the caller reuses for many directories.
func (d dirHandle) numbersWith(buf []byte, to []int) ([]int, error) {
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(int(d), buf) })
		if err != nil || n == 0 {
			return to, err
		}
		to = appendNumbers(to, buf[:n])
	}
}

// appendNumbers walks the records of getdents64(2): 8 bytes inode, 8 bytes
// offset, 2 bytes length, 1 byte type, name with a NUL.
func appendNumbers(to []int, b []byte) []int {
	const header = 19
	for len(b) > header {
		length := int(binary.NativeEndian.Uint16(b[16:18]))
		if length <= header || length > len(b) {
			return to
		}
		name := b[header:length]
		for i, c := range name {
			if c == 0 {
				name = name[:i]
				break
			}
		}
		if n, ok := number(name); ok && n < 1<<31 {
			to = append(to, int(n))
		}
		b = b[length:]
	}
	return to
}
