// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// recordings is where the recorder keeps its samples; see settle.
const recordings = "/var/lib/sentinel/recorder"

// fewProcesses is the load of an ordinary machine.
const fewProcesses = 300

// recordRows measure the recorder, and health with its last sample. What is kept is removed: health
// would go by it in the rows that follow.
func recordRows(ctx context.Context, p programs) ([]row, error) {
	defer os.RemoveAll(recordings) // the whole directory goes away at the end
	if err := crowd(ctx, fewProcesses); err != nil {
		return nil, err
	}
	rows, err := recordingRows(ctx, p, fewProcesses, 12)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(2 * time.Second): // a younger sample is not used
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := rounds(ctx, commandRounds, []string{p.sentinel(), "--json"})
	if err != nil {
		return nil, err
	}
	return append(rows, row{
		what: "--json with the recorder's last sample: time", measured: milliseconds(wall, s[0]) / 1000, bar: 0.12, unit: " s",
		basis: fmt.Sprintf("median of %d", commandRounds),
	}), nil
}

// crowdedRecordRows measure the recorder with many processes.
func crowdedRecordRows(ctx context.Context, p programs) ([]row, error) {
	defer os.RemoveAll(recordings) // see recordRows
	return recordingRows(ctx, p, processes, 30)
}

func recordingRows(ctx context.Context, p programs, count int, bar float64) ([]row, error) {
	s, err := rounds(ctx, startRounds, []string{p.sentinel(), "--record"})
	if err != nil {
		return nil, err
	}
	size, err := recordSize()
	if err != nil {
		return nil, err
	}
	return []row{
		{what: fmt.Sprintf("--record, %d processes: CPU time a minute", count), measured: milliseconds(cpu, s[0]), bar: bar, unit: " ms", basis: fmt.Sprintf("median of %d; start of the program included", startRounds)},
		{what: "  a sample on the disk", measured: size / 1000, bar: 1.5, unit: " KB"},
	}, nil
}

// recordSize is the mean size of a sample.
func recordSize() (float64, error) {
	files, err := filepath.Glob(filepath.Join(recordings, "*.records"))
	if err != nil || len(files) == 0 {
		return 0, errors.Join(err, errors.New("the recorder has kept nothing"))
	}
	size, samples := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		size, samples = size+len(raw), samples+bytes.Count(raw, []byte{'\n'})
	}
	return float64(size) / float64(max(1, samples)), nil
}
