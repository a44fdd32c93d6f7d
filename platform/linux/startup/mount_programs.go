// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// helperDirs are where mount(8) looks for "mount.TYPE" (FS_SEARCH_PATH of libmount).
var helperDirs = []string{"/sbin", "/sbin/fs.d", "/sbin/fs"}

// fstab has what is mounted at boot (fstab(5)). On a running system with systemd a generator has made units of it.
const fstab = "/etc/fstab"

// mounts finds the programs that mounts of fstab are given to.
func (s *survey) mounts() {
	f, ok := s.open(fstab)
	if !ok {
		return
	}
	eachLine(s.text(f), func(number int, line string, _ []string) {
		words := unitfile.Words(line)
		if len(words) < 3 {
			return
		}
		if programs := s.mountHelpers(words[0], words[2], s.shell(f)); len(programs) > 0 {
			options := strings.Split(strings.Join(words[3:min(len(words), 4)], ""), ",")
			atBoot := !slices.Contains(options, "noauto") || slices.Contains(options, "x-systemd.automount")
			s.add(f, startup.Entry{Kind: startup.MountUnit, Name: words[1], Line: number, Identity: line, Content: line, When: "boot", User: "root", Enabled: new(atBoot)}, programs...)
		}
	})
}

// mountHelpers are the programs that mount(8) has mount a type of file system, or each of several between commas, in
// place of the kernel. That of FUSE runs another, "fuse.PROGRAM" or of "PROGRAM#SOURCE" (mount.fuse3(8)).
func (s *survey) mountHelpers(source, types string, sh *shellscript.Reader) (list []string) {
	for kind := range strings.SplitSeq(types, ",") {
		general, sub, _ := strings.Cut(kind, ".")
		list = append(list, s.mountHelper(kind, general)...)
		switch program, _, isProgram := strings.Cut(source, "#"); {
		case !strings.HasPrefix(general, "fuse"):
		case sub != "":
			list = append(list, sh.Command([]string{sub})...)
		case isProgram:
			list = append(list, sh.Command([]string{program})...)
		}
	}
	return shellscript.Once(list)
}

// mountHelper is the first helper that there is of a type, or of that without what is behind its dot.
func (s *survey) mountHelper(kinds ...string) []string {
	for _, kind := range kinds {
		for _, directory := range helperDirs {
			name := path.Join(directory, "mount."+kind)
			if strings.Contains(kind, "/") {
				continue
			}
			if _, err := s.resolve(name); !hostfile.Missing(err) {
				return []string{name}
			}
		}
	}
	return nil
}
