// SPDX-License-Identifier: Apache-2.0

// Command gen writes the files that are generated from tables and types: schemas,
// pages of the documentation, the manual pages and the default configuration. A
// test compares the committed files with its output. No program links it.
package main

import (
	"log"
	"os"
	"path/filepath"
)

//go:generate go run .

// root is the root of the module, relative to this directory, where go generate
// runs.
var root = filepath.Join("..", "..")

func main() {
	log.SetFlags(0)
	files, err := generate()
	if err != nil {
		log.Fatal(err)
	}
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(root, path), content, 0o644); err != nil { //nolint:gosec // documentation is for everyone to read
			log.Fatal(err)
		}
	}
}

// generate returns every generated file by its path below the root.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{
		"docs/reference.md":   []byte(referencePage()),
		"docs/errors.md":      []byte(errorsPage()),
		"docs/man/sentinel.1": []byte(manPage()),

		"docs/man/sentinel-guard.1": []byte(guardManPage()),

		"packaging/sudoers.d/sentinel": []byte(sudoRules()),
	}
	for _, add := range []func(map[string][]byte) error{addConfig, addAudit, addSchemas} {
		if err := add(files); err != nil {
			return nil, err
		}
	}
	return files, nil
}
