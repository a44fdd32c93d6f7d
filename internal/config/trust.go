package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// trusted checks that nobody but root and the user who runs sentinel can
// change path or put another file in its place: the file and every folder above
// it belong to one of the two and are not writable by group or others. A folder
// with the sticky bit that root owns, such as /tmp, may be writable: the
// kernel lets nobody rename or remove what belongs to somebody else there.
func trusted(path string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Symbolic links are followed first, so that it is the real folders that
	// are checked.
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return err
	}
	for _, p := range []string{absolute, real} {
		for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				return err
			}
			if err := safe(dir, info); err != nil {
				return err
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}

func safe(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner that can be read", path)
	}
	if stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d; it must belong to root (chown root %s)", path, stat.Uid, path)
	}
	writable := info.Mode().Perm()&0o022 != 0
	guarded := info.IsDir() && info.Mode()&fs.ModeSticky != 0 && stat.Uid == 0
	if writable && !guarded {
		return fmt.Errorf("%s can be written by others (chmod go-w %s)", path, path)
	}
	return nil
}
