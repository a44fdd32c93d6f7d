// SPDX-License-Identifier: Apache-2.0

package lsof

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/sysexec"
)

// A File is one open file of a process.
type File struct {
	FD    string // a number, or cwd, txt (the program, and libraries), rtd ...
	Type  string // REG, DIR, CHR, PIPE, unix, IPv4, KQUEUE ... (lsof(8), "TYPE")
	Size  uint64 // bytes of a regular file
	Links int    // names that lead to it; -1 where it was not printed
	Name  string // of the file, with its path
}

// Number is the descriptor; false for what has none, such as the working directory.
func (f File) Number() (int, bool) {
	n, err := strconv.Atoi(f.FD)
	return n, err == nil
}

// Files returns the open files of a process, with the number of their names (+L). A user gets nothing for processes of others, which is an
// error; root gets all.
func Files(ctx context.Context, runner sysexec.Runner, pid int) ([]File, error) {
	r, err := runner.Run(ctx, sysexec.Command{
		Path: program, Args: []string{"-nP", "+L", "-p", strconv.Itoa(pid), "-Fftskn"}, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput,
	})
	if err != nil {
		return nil, err
	}
	if r.Exit > 1 || len(r.Stdout) == 0 {
		return nil, fmt.Errorf("lsof names no file of it, and ended with status %d", r.Exit)
	}
	return parseFiles(r.Stdout, pid)
}

// parseFiles reads field output, of which each file begins with its descriptor. Files of another
// process than the one that was asked about make all of it invalid.
func parseFiles(raw []byte, pid int) ([]File, error) {
	var list []File
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		letter, value := line[0], line[1:]
		switch {
		case letter == 'p' && value == strconv.Itoa(pid):
			continue
		case letter == 'f':
			list = append(list, File{FD: strings.TrimSpace(value), Links: -1})
			continue
		case len(list) == 0:
			return nil, errFields
		}
		if !list[len(list)-1].set(letter, value) {
			return nil, errFields
		}
	}
	return list, nil
}

func (f *File) set(letter byte, value string) bool {
	var err error
	switch letter {
	case 't':
		f.Type = value
	case 's':
		f.Size, err = strconv.ParseUint(value, 10, 63)
	case 'k':
		f.Links, err = strconv.Atoi(value)
	case 'n':
		f.Name = unescaped(value)
	default:
		return false
	}
	return err == nil
}
