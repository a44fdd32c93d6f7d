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

// minFree is how much should be free on the file systems of state and journal,
// in bytes: a few files of the journal.
const minFree = 32 << 20

func configuration(_ context.Context, t Target) []Finding {
	if t.ConfigError != nil {
		return one(Problem, t.ConfigError.Error(), "Correct what is named, or remove the file to use the defaults.")
	}
	if len(t.ConfigFiles) == 0 {
		return one(OK, "There is no "+t.ConfigPath+"; the defaults apply.", "")
	}
	for _, file := range t.ConfigFiles {
		if err := t.Trusted(t.at(file)); err != nil {
			return one(Problem, "Root refuses to read it: "+err.Error(), "sudo chown root "+file+" && sudo chmod 0644 "+file)
		}
	}
	if len(t.ConfigFiles) == 1 {
		return one(OK, t.ConfigFiles[0]+" is valid and belongs to root", "")
	}
	return one(OK, strings.Join(t.ConfigFiles, ", ")+" are valid and belong to root; what a later one sets is in force", "")
}

// asking says what a client needs where a person has to agree to changes; otherwise it is silent.
func asking(_ context.Context, t Target) []Finding {
	if !t.AskRequired {
		return nil
	}
	return one(OK, "policy.ask is required: what changes this machine is refused to clients that cannot ask their user (elicitation)", "")
}

// configurationDir is checked even without a configuration: whoever can write to
// it can put one there.
func configurationDir(_ context.Context, t Target) []Finding {
	dir := filepath.Dir(t.ConfigPath)
	_, err := os.Stat(t.at(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(OK, "There is no "+dir+", and none is needed.", "")
	case err != nil:
		return one(Unknown, err.Error(), "")
	}
	if err := t.Trusted(t.at(dir)); err != nil {
		return one(Problem, err.Error(), giveToRootFix(dir, err))
	}
	return one(OK, dir+" belongs to root", "")
}

// sharedDirFix is for a directory in which others have files too, where a
// command could break something.
const sharedDirFix = "Find out why others can write to the folder that is named; only root should be able to."

// giveToRootFix is for a directory of sentinel's own. What is wrong may be a
// directory above it.
func giveToRootFix(dir string, why error) string {
	if !strings.Contains(why.Error(), dir+" ") {
		return sharedDirFix
	}
	return "Give it to root: sudo chown root " + dir + " && sudo chmod go-w " + dir
}

func stateDir(_ context.Context, t Target) []Finding { return t.checkOwnDir(t.StateDir, t.Trusted) }

func journalDir(_ context.Context, t Target) []Finding {
	return t.checkOwnDir(t.JournalDir, t.TrustedLog)
}

// checkOwnDir checks a directory that sentinel writes to as root.
func (t Target) checkOwnDir(dir string, trusted func(string) error) []Finding {
	info, err := os.Lstat(t.at(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.checkMissingDir(dir, trusted)
	case errors.Is(err, fs.ErrPermission):
		return one(Unknown, "Only root can look at "+dir+".", asAdministrator)
	case err != nil:
		return one(Unknown, err.Error(), "")
	case !info.IsDir():
		return one(Problem, dir+" is not a folder.", "Move it aside: sudo mv "+dir+" "+dir+".aside")
	}
	if err := trusted(t.at(dir)); err != nil {
		return one(Problem, err.Error(), giveToRootFix(dir, err))
	}
	return t.checkSpace(dir, dir+" belongs to root")
}

// existingParent is the directory above dir that has to exist. macOS has no
// /var/lib; it is made with dir.
func (t Target) existingParent(dir string) string {
	above := filepath.Dir(dir)
	if _, err := os.Stat(t.at(above)); t.mac() && errors.Is(err, fs.ErrNotExist) {
		return filepath.Dir(above)
	}
	return above
}

// checkMissingDir checks whether a directory can be made, as the first change does.
func (t Target) checkMissingDir(dir string, trusted func(string) error) []Finding {
	above := t.existingParent(dir)
	if _, err := os.Stat(t.at(above)); err != nil {
		return one(Warning, "There is neither "+dir+" nor "+above+".", "sudo mkdir -p "+above)
	}
	if err := trusted(t.at(above)); err != nil {
		return one(Problem, dir+" cannot be made safely: "+err.Error(), sharedDirFix)
	}
	return t.checkSpace(above, dir+" does not exist yet; the first change makes it")
}

// checkSpace checks the file system of a directory: a change that cannot be
// recorded is not made.
func (t Target) checkSpace(dir, seen string) []Finding {
	free, readOnly, err := fileSystem(t.at(dir))
	switch {
	case err != nil:
		return one(Unknown, seen+"; its file system does not answer: "+err.Error(), "")
	case readOnly:
		return one(Problem, seen+", on a file system that is mounted read-only", t.bySystem("Mount it read-write: findmnt -T "+dir, "See which one it is: df "+dir))
	case free < minFree:
		return one(Problem, fmt.Sprintf("%s, and only %d MiB are free there", seen, free>>20), "Make room: df -h "+dir)
	default:
		return one(OK, fmt.Sprintf("%s; %d MiB are free there", seen, free>>20), "")
	}
}
