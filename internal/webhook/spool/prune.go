// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Prune drops expired documents for receivers that are no longer in the
// configuration, whose spools nobody else opens. urls are those in the configuration. It returns
// how many documents it dropped.
func Prune(dir string, urls []string, maxAge time.Duration) (dropped int, err error) {
	var known []string
	for _, url := range urls {
		known = append(known, New(dir, url, 0, 0).dir)
	}
	dirs, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	var errs []error
	for _, f := range dirs {
		s := &Spool{dir: filepath.Join(dir, f.Name()), maxBytes: math.MaxInt64, maxAge: maxAge, now: time.Now}
		if !f.IsDir() || slices.Contains(known, s.dir) {
			continue
		}
		if err := s.open(); err != nil {
			errs = append(errs, err)
			continue
		}
		_, n, err := s.enforceBounds(entry{})
		dropped, errs = dropped+n, append(errs, err)
	}
	return dropped, errors.Join(errs...)
}
