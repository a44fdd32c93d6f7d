// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// settle gives the namespaces a /proc of their processes, loopback, and directories
// of state and logs of their own: what is written there goes away with them.
func settle(dir string) error {
	// Files that this program inherited are not for its children: every one would
	// be open in thousands of processes.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep inherited files from children: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, directory := range []string{"/var/lib", "/var/log"} {
		if err := layOver(directory, filepath.Join(dir, "over", filepath.Base(directory))); err != nil {
			return fmt.Errorf("mount over %s: %w", directory, err)
		}
	}
	return raiseLoopback()
}

// layOver shows a directory as it is and keeps what is written to it in memory.
func layOver(directory, in string) error {
	if err := os.MkdirAll(in, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", in, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	upper, work := filepath.Join(in, "upper"), filepath.Join(in, "work")
	for _, d := range []string{upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	return unix.Mount("overlay", directory, "overlay", 0, "lowerdir="+directory+",upperdir="+upper+",workdir="+work)
}

func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s) // nothing was written that could be lost
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}

// crowd starts processes that do nothing. They end with the namespace.
func crowd(ctx context.Context, count int) error {
	path, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer nothing.Close() // the children have their own
	attr := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nothing, nothing, nothing}}
	for range count {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := os.StartProcess(path, []string{"sleep", "infinity"}, attr); err != nil {
			return fmt.Errorf("start an idle process: %w", err)
		}
	}
	return nil
}

// holders starts processes that hold so many pairs of connected TCP sockets
// each, and one that listens, by IPv4 and IPv6 in turn.
func holders(ctx context.Context, count, pairs int) error {
	for i := range count {
		family := []string{"IPv4", "IPv6"}[i%2]
		cmd := exec.CommandContext(ctx, "/proc/self/exe", partHold, family, strconv.Itoa(pairs))
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
			return fmt.Errorf("a process did not open its sockets: %w", err)
		}
	}
	return nil
}

// hold connects so many pairs of sockets over loopback, says so, and keeps
// them.
func hold(family, pairs string) error {
	count, err := strconv.Atoi(pairs)
	if err != nil {
		return err
	}
	number, address := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if family == "IPv6" {
		number, address = unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}
	}
	if err := connectPairs(number, address, count); err != nil {
		return err
	}
	if _, err := io.WriteString(os.Stdout, "open\n"); err != nil {
		return err
	}
	for {
		if err := unix.Pause(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func connectPairs(family int, address unix.Sockaddr, count int) error {
	listener, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(listener, address), unix.Listen(listener, 64)); err != nil {
		return err
	}
	bound, err := unix.Getsockname(listener)
	if err != nil {
		return err
	}
	for range count {
		client, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		if err := unix.Connect(client, bound); err != nil {
			return err
		}
		if _, _, err := unix.Accept(listener); err != nil {
			return err
		}
	}
	return nil
}
