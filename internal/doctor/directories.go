// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// leastRoom is what the file systems of state and journal should have free, in
// bytes: some files of the journal.
const leastRoom = 32 << 20

func configuration(_ context.Context, p Target) []Finding {
	if p.ConfigError != nil {
		return one(Problem, p.ConfigError.Error(), "Correct what is named, or remove the file to use the defaults.")
	}
	_, err := os.Stat(p.at(p.ConfigPath))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(OK, "There is no "+p.ConfigPath+"; the defaults hold.", "")
	case err != nil:
		return one(Unknown, err.Error(), "")
	}
	if err := p.Trusted(p.at(p.ConfigPath)); err != nil {
		return one(Problem, "As root it is refused: "+err.Error(), "sudo chown root "+p.ConfigPath+" && sudo chmod 0644 "+p.ConfigPath)
	}
	return one(OK, p.ConfigPath+" is understood and belongs to root", "")
}

// configurationDirectory is looked at even without a configuration: who can write
// it can put one there.
func configurationDir(_ context.Context, p Target) []Finding {
	dir := filepath.Dir(p.ConfigPath)
	_, err := os.Stat(p.at(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(OK, "There is no "+dir+", and none is needed.", "")
	case err != nil:
		return one(Unknown, err.Error(), "")
	}
	if err := p.Trusted(p.at(dir)); err != nil {
		return one(Problem, err.Error(), giveToRoot(dir, err))
	}
	return one(OK, dir+" belongs to root", "")
}

// shared is what to do about a directory that others have their files in, too: a
// command could break what they do.
const shared = "Find out why others may write to the folder that is named; only root should."

// giveToRoot mends a directory of sentinel's own. What is wrong may be a directory
// above it.
func giveToRoot(dir string, why error) string {
	if !strings.Contains(why.Error(), dir+" ") {
		return shared
	}
	return "Give it to root: sudo chown root " + dir + " && sudo chmod go-w " + dir
}

func stateDir(_ context.Context, p Target) []Finding { return p.kept(p.StateDir, p.Trusted) }

func journalDir(_ context.Context, p Target) []Finding { return p.kept(p.JournalDir, p.TrustedLog) }

// kept judges a directory that sentinel writes to as root.
func (p Target) kept(dir string, trusted func(string) error) []Finding {
	info, err := os.Lstat(p.at(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.toBeMade(dir, trusted)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can look at "+dir+".", "Run: sudo sentinel --doctor")
	case err != nil:
		return one(Unknown, err.Error(), "")
	case !info.IsDir():
		return one(Problem, dir+" is not a folder.", "Move it aside: sudo mv "+dir+" "+dir+".aside")
	}
	if err := trusted(p.at(dir)); err != nil {
		return one(Problem, err.Error(), giveToRoot(dir, err))
	}
	return p.room(dir, dir+" belongs to root")
}

// toHold is the directory above dir that has to be there. macOS has no /var/lib; it
// is made with dir.
func (p Target) toHold(dir string) string {
	above := filepath.Dir(dir)
	if _, err := os.Stat(p.at(above)); p.mac() && errors.Is(err, fs.ErrNotExist) {
		return filepath.Dir(above)
	}
	return above
}

// toBeMade judges a directory that the first change makes.
func (p Target) toBeMade(dir string, trusted func(string) error) []Finding {
	above := p.toHold(dir)
	if _, err := os.Stat(p.at(above)); err != nil {
		return one(Warning, "There is neither "+dir+" nor "+above+".", "sudo mkdir -p "+above)
	}
	if err := trusted(p.at(above)); err != nil {
		return one(Problem, dir+" cannot be made safely: "+err.Error(), shared)
	}
	return p.room(above, dir+" is not there yet; the first change makes it")
}

// room looks at the file system of a directory: a change that cannot be recorded is
// not made.
func (p Target) room(dir, seen string) []Finding {
	free, readOnly, err := fileSystem(p.at(dir))
	switch {
	case err != nil:
		return one(Unknown, seen+"; its file system does not answer: "+err.Error(), "")
	case readOnly:
		return one(Problem, seen+", on a file system that is mounted for reading only", p.either("Mount it for writing: findmnt -T "+dir, "See which one it is: df "+dir))
	case free < leastRoom:
		return one(Problem, fmt.Sprintf("%s, and only %d MiB are free there", seen, free>>20), "Make room: df -h "+dir)
	default:
		return one(OK, fmt.Sprintf("%s; %d MiB are free there", seen, free>>20), "")
	}
}
