// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// imposter is a program for x86-64 at 0x400000 that goes on in anonymous memory with nothing of its file mapped,
// and has /proc/PID/exe lead to the file that it has open as 3. Its sources:
//
//	_start: mov eax, 9; xor edi, edi; mov esi, 4096; mov edx, 7     # mmap a page, writable and executable,
//	        mov r10d, 0x22; mov r8, -1; xor r9d, r9d; syscall       # private and anonymous
//	        mov rbx, rax; mov rdi, rax; mov esi, 0x400000           # copy the file there, and go on in it
//	        mov ecx, 4096; rep movsb
//	        lea rax, [rbx + (next - _start) + 120]; jmp rax
//	next:   mov eax, 11; mov edi, 0x400000; mov esi, 4096; syscall  # munmap
//	        mov eax, 157; mov edi, 35; mov esi, 14                  # prctl PR_SET_MM, PR_SET_MM_MAP
//	        lea rdx, [rbx + 1024]; mov r10d, 104; xor r8d, r8d; syscall
//	        test rax, rax; jnz fail
//	        mov eax, 105; mov edi, [rbx + 1128]; syscall            # setuid, where there is such a user
//	wait:   mov eax, 34; syscall; jmp wait                          # pause
//	fail:   mov edi, eax; neg edi; mov eax, 231; syscall            # exit_group
const imposter = "b80900000031ffbe00100000ba0700000041ba2200000049c7c0ffffffff4531c90f054889c34889c7be00004000b900100000f3a4488d83b6000000ffe0" +
	"b80b000000bf00004000be001000000f05b89d000000bf23000000be0e000000488d930004000041ba680000004531c00f054885c07516" +
	"b8690000008bbb680400000f05b8220000000f05ebf789c7f7dfb8e70000000f05"

// Where the parts of that file are, in bytes, and where it is in memory.
const (
	imposterBase = 0x400000
	imposterPage = 4096
	headers      = 120 // of the file and of its one segment (elf(5))
	mapAt        = 1024
	mapWords     = 13 // of struct prctl_mm_map (linux/prctl.h)
	userAt       = mapAt + 8*mapWords
)

// Imposter runs a process as a user until the test ends whose code is in memory alone, and that the kernel shows with
// another program (PR_SET_MM_MAP of prctl(2)). The program is at path on a disk for as long as it takes to start; before
// are the arguments before that path, such as those of unshare(1).
func Imposter(t testing.TB, path string, uid int, shows string, before ...string) *os.Process {
	t.Helper()
	Need(t, runtime.GOARCH == "amd64", "an x86-64 machine, whose code the program is")
	RequireIsolated(t)
	if err := os.WriteFile(path, imposterFile(t, uid), 0o755); err != nil {
		t.Fatal(err)
	}
	shown, err := os.Open(shows)
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	argv := append(before, path)
	c := exec.Command(argv[0], argv[1:]...)
	c.ExtraFiles = []*os.File{shown}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	target, err := filepath.EvalSymlinks(shows)
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, "the kernel shows another program", func() bool {
		link, err := os.Readlink("/proc/" + strconv.Itoa(c.Process.Pid) + "/exe")
		var owner syscall.Stat_t
		statErr := syscall.Stat("/proc/"+strconv.Itoa(c.Process.Pid), &owner)
		return err == nil && statErr == nil && link == target && (len(before) > 0 || int(owner.Uid) == uid)
	})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	return c.Process
}

// imposterFile is the program in the format of elf(5), the addresses of its new memory map, and the user that it becomes.
func imposterFile(t testing.TB, uid int) []byte {
	t.Helper()
	code, err := hex.DecodeString(imposter)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, imposterPage)
	copy(file, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(file[16:], 2)  // ET_EXEC
	le.PutUint16(file[18:], 62) // EM_X86_64
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[24:], imposterBase+headers)
	le.PutUint64(file[32:], 64)
	le.PutUint16(file[52:], 64)
	le.PutUint16(file[54:], 56)
	le.PutUint16(file[56:], 1)
	le.PutUint32(file[64:], 1) // PT_LOAD
	le.PutUint32(file[68:], 5) // readable and executable
	le.PutUint64(file[80:], imposterBase)
	le.PutUint64(file[96:], imposterPage)
	le.PutUint64(file[104:], imposterPage)
	le.PutUint64(file[112:], imposterPage)
	copy(file[headers:], code)
	for i := range mapWords - 2 {
		le.PutUint64(file[mapAt+8*i:], 0x10000000+uint64(i)<<20)
	}
	le.PutUint32(file[userAt-4:], 3)
	le.PutUint32(file[userAt:], uint32(uid))
	return file
}
