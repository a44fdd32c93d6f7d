// SPDX-License-Identifier: Apache-2.0

// Package sensors reads the temperature sensors of a Mac in a child process.
//
// macOS has no program that prints them on Apple silicon; reading them takes undocumented calls
// into its frameworks, which have crashed in the past. The child is this program itself, so a crash
// or a hang costs only the temperature.
package sensors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"sentinel/internal/sysexec"
)

// Argument makes this program the child that reads sensors if it is the only argument.
const Argument = "--read-sensors-as-child"

const (
	limit     = 1200 * time.Millisecond // of the three seconds that a fact may take
	waitDelay = 50 * time.Millisecond   // a child that hangs is not waited for
	maxOutput = 256 << 10
)

// A Reading is the value of one sensor, with the name that the hardware gives it.
type Reading struct {
	Name    string  `json:"name"`
	Celsius float64 `json:"celsius"`
}

// A report is what the child prints.
type report struct {
	Sensors []Reading `json:"sensors"`
	Error   string    `json:"error,omitempty"`
}

// Serve runs in the child: it prints what read returns.
func Serve(out io.Writer, read func() ([]Reading, error)) error {
	list, err := read()
	r := report{Sensors: list}
	if err != nil {
		r.Error = err.Error()
	}
	return json.NewEncoder(out).Encode(r)
}

var errUnknown = errors.New("the path of this program is unknown")

// Read runs own, the absolute path of this program, as the child.
func Read(ctx context.Context, runner sysexec.Runner, own string) ([]Reading, error) {
	if own == "" {
		return nil, errUnknown
	}
	r, err := runner.Run(ctx, sysexec.Command{
		Path: own, Args: []string{Argument}, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the sensors: %w", err)
	case r.Exit != 0:
		return nil, fmt.Errorf("the process that reads the sensors ended with status %d", r.Exit)
	}
	return parse(r.Stdout)
}

// parse reads the output of the child. Values are not checked for plausibility.
func parse(raw []byte) ([]Reading, error) {
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, errors.New("the process that reads the sensors printed something else")
	}
	if r.Error != "" {
		return nil, errors.New("the sensors cannot be read: " + r.Error)
	}
	return r.Sensors, nil
}
