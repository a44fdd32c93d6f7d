// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"os"
	"path/filepath"
)

// maxFolders bounds how many folders above the one at hand are looked into.
const maxFolders = 64

// InProject returns the clients that have a configuration in dir or in a folder above it, up to the
// home: each reads and edits that file, which those who work on the project share. Claude Code
// reads .mcp.json in all of these folders, Copilot CLI as well; others read theirs in the folder
// that they have open, which is one of them.
func InProject(u User, dir string) (all []Client) {
	dir = filepath.Clean(dir)
	for range maxFolders {
		for _, c := range list {
			if p, ok := c.of(u, dir); ok {
				all = append(all, p)
			}
		}
		above := filepath.Dir(dir)
		if above == dir || SameFile(dir, u.Home) {
			break
		}
		dir = above
	}
	return all
}

// ProjectFiles lists the files of projects, below their folder.
func ProjectFiles() (all []string) {
	for _, c := range list {
		if c.project != "" {
			all = append(all, c.project)
		}
	}
	return all
}

// of returns the client with its configuration in a folder, false where that is not there or is the
// user's own.
func (c Client) of(u User, dir string) (Client, bool) {
	if c.project == "" {
		return c, false
	}
	path := filepath.Join(dir, c.project)
	if _, err := os.Lstat(path); err != nil || SameFile(path, c.File(u)) {
		return c, false
	}
	install := *c.Install
	install.Projects = "" // a member of the user's file alone
	c.Install, c.Folder, c.config = &install, dir, place{path: path}
	return c, true
}

// SameFile says whether two paths lead to one file.
func SameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
