// SPDX-License-Identifier: Apache-2.0

// Package diskutil reads the disks and APFS containers of a Mac from the
// property lists of diskutil(8).
package diskutil

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/plist"
)

const (
	program = "/usr/sbin/diskutil"
	// limit bounds one run: diskutil asks every disk, and one that spins up
	// again takes seconds.
	limit = 7 * time.Second
	// waitDelay is the time to wait for a killed run to end.
	waitDelay = 200 * time.Millisecond
	// maxDisks bounds how many disks, partitions and volumes are read.
	maxDisks = 4096
)

// ErrFormat reports a property list that is not one of diskutil's.
var ErrFormat = errors.New("diskutil printed a property list without disks")

// A Refusal is the error that diskutil prints instead of an answer, as a property
// list on its standard output.
type Refusal struct{ Message string }

// Error implements error.
func (r Refusal) Error() string { return "diskutil: " + r.Message }

// refusal is the form in which diskutil reports an error with -plist.
type refusal struct {
	Error        bool   `plist:"Error"`
	ErrorMessage string `plist:"ErrorMessage"`
}

// decode stores the property list printed in value, or returns its Refusal.
func decode(printed []byte, value any) error {
	var no refusal
	if err := plist.Decode(printed, &no); err == nil && (no.Error || no.ErrorMessage != "") {
		return Refusal{no.ErrorMessage}
	}
	return plist.Decode(printed, value)
}

// run returns the output of diskutil. An exit status alone is not an error: the property list has
// the error.
func run(ctx context.Context, runner sysexec.Runner, args ...string) ([]byte, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: limit, WaitDelay: waitDelay})
	if err != nil {
		return nil, err
	}
	if r.Exit == 0 {
		return r.Stdout, nil
	}
	if no, refused := errors.AsType[Refusal](decode(r.Stdout, &struct{}{})); refused {
		return nil, no
	}
	return nil, fmt.Errorf("diskutil ended with %d", r.Exit)
}
