// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/trust"
)

// DropInDir is the directory beside the configuration whose files are read after
// it. No package has files there, so that an upgrade never asks about one.
const DropInDir = "config.d"

const (
	maxDropIns = 100  // files that are read
	maxEntries = 1000 // names in the directory
)

// dropIns lists the files of the directory that are read, in the order of their names in
// bytes. Others are left alone: what editors and package managers leave behind, and hidden ones.
// Whoever can write to the directory could take a policy away, so its owner counts even when it
// is empty.
func dropIns(dir string) ([]string, error) {
	switch err := trust.RootOrSelf.File(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	entries, err := entriesOf(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case filepath.Ext(name) == ".yaml":
			names = append(names, name)
		case filepath.Ext(name) == ".yml":
			return nil, fmt.Errorf("only names that end in .yaml are read, and there is %q", name)
		}
	}
	if len(names) > maxDropIns {
		return nil, fmt.Errorf("it has more than %d files", maxDropIns)
	}
	slices.Sort(names)
	return names, nil
}

func entriesOf(dir string) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	entries, err := f.ReadDir(maxEntries + 1)
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("it has more than %d names", maxEntries)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
