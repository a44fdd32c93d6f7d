// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"time"
)

// An entry is one file of a bundle.
type entry struct {
	name string
	mode fs.FileMode
	raw  []byte
}

// zipped packs files reproducibly: the same files always give the same bytes.
func zipped(files []entry) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.raw); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
