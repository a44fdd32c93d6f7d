// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Usage returns how many documents wait below dir, for all receivers, and their size in bytes. It
// changes nothing. A dir that does not exist is empty.
func Usage(dir string) (documents int, bytes int64, err error) {
	dirs, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		waiting, err := (&Spool{dir: filepath.Join(dir, d.Name())}).list()
		if err != nil {
			return 0, 0, err
		}
		for _, e := range waiting {
			documents, bytes = documents+1, bytes+e.size
		}
	}
	return documents, bytes, nil
}
