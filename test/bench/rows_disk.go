// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// The tree that is added up: 500 directories of 20 with 50 files each.
const (
	topDirectories = 500
	subDirectories = 20
	filesInEach    = 50
)

// diskRows add up half a million files, all of them in the page cache.
func diskRows(ctx context.Context, p programs) ([]row, error) {
	const what = "--disk-usage of 500,000 files: time against du -x --max-depth=1"
	du, err := exec.LookPath("du")
	if err != nil {
		return []row{{what: what, missing: "du is not installed", bar: 1, unit: "x"}}, nil
	}
	dir := filepath.Join(p.dir, "files")
	defer os.RemoveAll(dir) // the whole directory goes away at the end
	if err := plant(ctx, dir); err != nil {
		return nil, err
	}
	s, err := rounds(ctx, commandRounds, []string{p.sentinel(), "--disk-usage", dir, "--json"}, []string{du, "-x", "--max-depth=1", dir})
	if err != nil {
		return nil, err
	}
	return []row{{
		what: what, measured: ratio(wall, s[0], s[1]), bar: 1, unit: "x",
		basis: fmt.Sprintf("%.0f ms / %.0f ms, median of %d pairs; in the page cache", milliseconds(wall, s[0]), milliseconds(wall, s[1]), commandRounds),
	}}, nil
}

func plant(ctx context.Context, dir string) error {
	for i := range topDirectories * subDirectories {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in := filepath.Join(dir, fmt.Sprint(i/subDirectories), fmt.Sprint(i%subDirectories))
		if err := os.MkdirAll(in, 0o755); err != nil {
			return err
		}
		for n := range filesInEach {
			if err := os.WriteFile(filepath.Join(in, fmt.Sprint(n)), []byte("x"), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}
