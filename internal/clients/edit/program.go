// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/installed"
)

// A Search finds the program that a client is to start.
type Search struct {
	Name    string             // of the program
	Own     string             // the running one
	Trusted func(string) error // why somebody other than root could change a path
	Root    string             // "/" when live
}

// Program returns a lasting absolute path: that of the one that root has
// installed, or else of the running one, by the name that its next version will have too.
func (s Search) Program() (string, error) {
	for _, path := range installed.Paths(s.Name) {
		path = filepath.Join(s.Root, path)
		if isProgram(path) && s.Trusted(path) == nil {
			return path, nil
		}
	}
	if temporary(s.Own) {
		return "", fault.New(fault.Unavailable, "This "+s.Name+", "+s.Own+", is in a folder for temporary files, and none is installed.").
			WithFix("Copy the programs into a folder that stays, such as ~/.local/bin, and run the one there. To change the system as well, install them, from the folder of the release or source: sudo make install")
	}
	own, err := os.Stat(s.Own)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, s.Name+" cannot tell where it is installed", err)
	}
	// Homebrew installs a program below its version and links to it.
	for _, dir := range []string{"/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin"} {
		path := filepath.Join(s.Root, dir, s.Name)
		if linked, err := os.Stat(path); err == nil && os.SameFile(own, linked) {
			return path, nil
		}
	}
	return s.Own, nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// temporary says whether path may be gone tomorrow, as in a directory for
// temporary files or where "go run" builds.
func temporary(path string) bool {
	if !filepath.IsAbs(path) || strings.Contains(path, "/go-build") || strings.Contains(path, "/AppTranslocation/") {
		return true
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run", "/var/folders", "/private/tmp", "/private/var/tmp", "/private/var/folders", os.TempDir()} {
		if dir = filepath.Clean(dir); dir != "/" && strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}
