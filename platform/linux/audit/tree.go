// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/lazyregexp"
	"sentinel/internal/posixacl"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/audit/filetree"
	"sentinel/platform/linux/procfs"
)

func treeChecks() []check {
	return []check{
		{About: audit.About{
			ID: "tree.world_writable", Name: "Files that everyone can write", Severity: audit.High, Weight: 7, Unusual: true,
			Reference:   "CIS 7.1.11, Lynis FILE-6362, Lynis BOOT-5184",
			Description: "Whoever can change a file of the system decides what root and all other users run.",
			Formula:     "PASS when no file and no folder without the sticky bit below /etc, /usr, /boot, /opt, /root and /var can be written by everyone. What is below /tmp, /var/tmp and the storage of containers does not count. FAIL otherwise. Skipped when not all of it could be looked at.",
		}, Run: worldWritable, Limit: treeLimit},
		{About: audit.About{
			ID: "tree.unowned", Name: "Files without an owner", Severity: audit.Medium, Weight: 4, Unusual: true,
			Reference:   "CIS 7.1.12, Lynis FILE-6336",
			Description: "Files of a number that is no user fall to the next account that gets the number.",
			Formula:     "PASS when every file below /etc, /usr, /boot, /opt, /root and /var belongs to a user and a group that exist; the storage of containers and the dynamic users of systemd do not count. WARN otherwise. Skipped when users come from a directory service, or not all could be looked at.",
		}, Run: unowned, Limit: treeLimit},
		{About: audit.About{
			ID: "tree.setuid", Name: "Programs that give away rights", Severity: audit.High, Weight: 9, Unusual: true,
			Reference:   "CIS 7.1.13",
			Description: "A program with the set-user-ID bit gives everyone the rights of its owner, and one with file capabilities some of root's: the classic back door.",
			Formula:     "PASS when every program with the set-user-ID or set-group-ID bit, or with file capabilities that lead to root (such as cap_setuid, cap_dac_override, cap_sys_admin, cap_sys_ptrace), on all file systems that are not mounted nosuid, but for those on servers, those that a process serves (FUSE) and the kernel's own such as proc, and in which no containers and virtual machines are kept (such as /var/lib/docker, /var/lib/flatpak, /var/snap, /var/cache/pbuilder), belongs to a package that is known to ship it so. FAIL for one of no package, for a shell, an interpreter or a tool that runs others, reads or writes files, and for a mode that the package, or dpkg-statoverride, does not have. WARN for another one that no package is known to ship so: the data of Debian and Arch hold no modes, and none hold capabilities. Skipped without package data, or when not all could be looked at.",
		}, Run: setuid, Limit: treeLimit},
		{About: audit.About{
			ID: "tree.programs", Name: "Owner of programs", Severity: audit.High, Weight: 8, Unusual: true,
			Reference:   "Lynis FILE-7524",
			Description: "The owner of a program, or a group that can write it, decides what root and all others run.",
			Formula:     "PASS when everything in and below /usr/bin, /usr/sbin, /usr/lib, /usr/libexec and their like (/lib64, /usr/local/lib) belongs to root, no group but that of root can write it, no access control list lets others, and no link among the commands and libraries leads to what others can change. FAIL otherwise. /usr/local is left to the group staff, as Debian has it.",
		}, Run: programs, Limit: treeLimit},
		{About: audit.About{
			ID: "tree.unpackaged", Name: "Programs of no package", Severity: audit.Medium, Weight: 3, Unusual: true,
			Reference:   "FHS 3.0, 4.4 and 4.10",
			Description: "Programs in /usr/bin and its like come with packages: one that did not was put there by somebody, and no update repairs it.",
			Formula:     "PASS when every program in /usr/bin, /usr/sbin, /bin and /sbin, and every program that a link there leads to, belongs to a package. WARN otherwise, those that were modified last first. Skipped without package data.",
		}, Run: unpackaged, Limit: treeLimit},
	}
}

const (
	// treeLimit bounds a check that may have to do both walks.
	treeLimit = 25 * time.Second
	// walkLimit bounds each of the two walks: both fit into treeLimit.
	walkLimit = 9 * time.Second
	// startsLimit bounds what is looked up before a walk.
	startsLimit = time.Second
	// maxWalkEntries bounds the entries of each walk.
	maxWalkEntries = 3_000_000
	// maxFound bounds the files of the system that are kept for a check, maxOfUser those of one user and
	// maxOfUsers those of all. The rest is counted.
	maxFound   = 500
	maxOfUser  = 125
	maxOfUsers = 2_000
)

// containerStorage holds whole systems of containers and virtual machines, which have
// users and packages of their own.
var containerStorage = []string{
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/lxc", "/var/lib/lxd", "/var/lib/incus", "/var/lib/machines",
	"/var/lib/kubelet", "/var/lib/rancher", "/var/lib/flatpak", "/var/lib/snapd", "/var/lib/portables", "/var/lib/mock", "/var/lib/schroot", "/var/lib/sbuild", "/var/cache/pbuilder",
	"/var/snap", "/snap", "/run/containerd", "/run/containers", "/run/docker",
}

// systemDirs hold what belongs to the system. The rest of the disk belongs to users
// and services. There only programs with the set-user-ID or set-group-ID bit matter.
var systemDirs = []string{"bin", "boot", "etc", "lib", "lib32", "lib64", "libx32", "opt", "root", "sbin", "usr", "var"}

// sharedDirs are folders among them in which everybody may have as many files as they like.
var sharedDirs = []string{"/var/tmp", "/var/lock", "/var/run"}

func isSystemPath(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains(systemDirs, top) && !isBelowAny(path, sharedDirs)
}

// isBelow says whether path is directory or in it.
func isBelow(path, directory string) bool {
	return path == directory || strings.HasPrefix(path, strings.TrimSuffix(directory, "/")+"/")
}

func isBelowAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(f string) bool { return isBelow(path, f) })
}

// A foundFile is one file that a check may object to.
type foundFile struct {
	path string
	filetree.Entry
	caps  capabilities  // that lead to root
	list  posixacl.List // whom an access control list lets write, where that was looked at
	to    string        // of a link: what others can change of where it leads
	owner string        // as in [audit.Line]
}

func (f foundFile) String() string {
	if f.to != "" {
		return f.path + " leads to " + f.to
	}
	text := fmt.Sprintf("%s: mode %04o, owner %d:%d", f.named(), f.Mode&0o7777, f.UID, f.GID)
	if f.caps != 0 {
		text += ", " + f.caps.String()
	}
	if len(f.list) > 0 {
		text += ", " + f.list.String()
	}
	return text
}

// maxTyped is the longest path, in characters, that a line of evidence has in whole.
const maxTyped = 90

// plainFolders begin a path with what can be typed as it is.
var plainFolders = lazyregexp.New(`^(/[A-Za-z0-9._@+-]+)*/`)

// named is the path of a file, or of a longer one what finds it: nobody can type what is cut.
func (f foundFile) named() string {
	if utf8.RuneCountInString(f.path) <= maxTyped {
		return f.path
	}
	begin := f.path[:maxTyped/2]
	return fmt.Sprintf("a long path (sudo find %s -inum %d)", plainFolders.Get().FindString(begin), f.Inode)
}

// A fileList keeps the first files of each owner that are added, and counts all. A user takes the room of
// nobody else.
type fileList struct {
	list         []foundFile
	of           map[string]int // by owner
	users, total int
}

func (l *fileList) add(f foundFile) {
	l.total++
	most := maxFound
	if f.owner != "" {
		most = maxOfUser
	}
	if l.of[f.owner] == most || f.owner != "" && l.users == maxOfUsers {
		return
	}
	if l.of == nil {
		l.of = map[string]int{}
	}
	if l.of[f.owner]++; f.owner != "" {
		l.users++
	}
	l.list = append(l.list, f)
}

// sorted returns the files, those of the system first and then by path. The walk finds them in no order.
func (l *fileList) sorted() []foundFile {
	slices.SortFunc(l.list, func(a, b foundFile) int {
		return cmp.Or(cmp.Compare(min(1, len(a.owner)), min(1, len(b.owner))), strings.Compare(a.path, b.path))
	})
	return l.list
}

// ownerOf is whose doing a file is, "" for the system: what has capabilities got them from root. A user whom a
// directory service knows may have a range of 65,536 numbers that are in no file (subuid(5)), which count as one.
func (m *machine) ownerOf(p localUsers, uid uint32, caps capabilities) string {
	switch user := m.userOf(int(uid)); {
	case caps != 0:
		return ""
	case p.uids[uint32(user)], user == 0:
		return m.owner(user)
	default:
		return "unknown " + strconv.Itoa(user>>16)
	}
}

// evidenceOf returns a line of evidence for each file.
func evidenceOf(list []foundFile) []audit.Line {
	lines := make([]audit.Line, len(list))
	for i, s := range list {
		lines[i] = audit.Line{Text: s.String(), Owner: s.owner}
	}
	return lines
}

// A walkResult is what a walk found.
type walkResult struct {
	sum                                 filetree.Sum
	unread                              int64 // programs whose capabilities could not be read
	writable, unowned, setuid, programs fileList
	far                                 int // file systems that no path leads to
	covered                             int // file systems below what users have mounted
}

const maxPlace = 160 // characters

// incomplete says why a walk did not see everything; "" when it did.
func (r *walkResult) incomplete() string {
	var why []string
	if r.sum.Stuck > 0 {
		why = append(why, r.stuck())
	}
	switch {
	case r.sum.Cut:
		why = append(why, fmt.Sprintf("the walk ended at its bound, after %d files", r.sum.Entries))
	case r.sum.Unseen+r.unread > 0:
		text := fmt.Sprintf("folders and files that could not be read: %d", r.sum.Unseen+r.unread)
		if r.sum.Unseen > 0 {
			text += ", the first in " + sanitize.Quoted(r.sum.UnseenAt, maxPlace)
		}
		why = append(why, text)
	case r.far > 0:
		why = append(why, fmt.Sprintf("file systems at paths that are too long to follow: %d", r.far))
	case r.covered > 0:
		why = append(why, fmt.Sprintf("file systems that users have mounted something over: %d", r.covered))
	}
	return strings.Join(why, "; ")
}

// stuck says which folders did not answer. Whoever may list one can bring that about, so its owner is not to blame.
func (r *walkResult) stuck() string {
	text := fmt.Sprintf("folders that do not answer: %d, such as %s", r.sum.Stuck, sanitize.Quoted(r.sum.StuckAt, maxPlace))
	if r.sum.StuckOwner >= 0 {
		text += fmt.Sprintf(" of user %d", r.sum.StuckOwner)
	}
	return text + " (a user keeps it from being read, or its disk is gone)"
}

// walkSystem walks the directories of the system, once.
func (m *machine) walkSystem(ctx context.Context) (*walkResult, error) {
	return m.systemWalk.Get(func() (*walkResult, error) { return m.walk(ctx, true) })
}

// walkRest walks the rest of the local file systems, once, for programs with the
// set-user-ID or set-group-ID bit.
func (m *machine) walkRest(ctx context.Context) (*walkResult, error) {
	return m.restWalk.Get(func() (*walkResult, error) { return m.walk(ctx, false) })
}

func (m *machine) walk(ctx context.Context, system bool) (*walkResult, error) {
	table, err := m.mounts()
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	p, err := m.users()
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, walkLimit)
	defer cancel()
	s := &walkResult{}
	if !system {
		s.far = countFar(table)
	}
	looking, stop := context.WithTimeout(ctx, startsLimit)
	defer stop()
	known := map[string]bool{} // what is given up is so for both lists of starts
	closed := func(dir string) bool {
		if _, asked := known[dir]; !asked {
			known[dir] = m.closed(looking, dir)
		}
		return known[dir]
	}
	starts := walkStarts(table, system, closed)
	s.covered = len(missing(walkStarts(ofSystem(table), system, closed), starts))
	s.sum = filetree.Walk(ctx, filetree.Tree{Root: m.Root, Start: starts, Skip: walkSkips(system), Mounted: mountedIn(table), Owner: uint32(m.Owner), Reachable: !system, Entries: maxWalkEntries},
		func(fd int, at filetree.Place, e filetree.Entry) func() {
			caps, err := capabilitiesOf(fd, at.Name, e)
			keep := s.record(m, p, system, at, e, caps)
			if err == nil {
				return keep
			}
			return func() {
				s.unread++
				if keep != nil {
					keep()
				}
			}
		})
	return s, nil
}

// walkSkips says which directories are not entered: what is not walked at all, and what the other walk sees.
func walkSkips(system bool) func(path string) bool {
	return func(path string) bool {
		return isSystemPath(path) != system || isBelowAny(path, containerStorage)
	}
}

// mountedIn says what is mounted at each path: those are starts of their own or not walked at all. What one user has
// mounted there counts, whatever is mounted over it.
func mountedIn(table []*mountinfo.Info) map[string]filetree.Mount {
	points := make(map[string]filetree.Mount, len(table))
	for _, t := range table {
		points[t.Mountpoint] = max(points[t.Mountpoint], whose(t))
	}
	return points
}

// record returns what keeps a file that a check may object to.
func (r *walkResult) record(m *machine, p localUsers, system bool, at filetree.Place, e filetree.Entry, caps capabilities) (keep func()) {
	bits := e.Mode & 0o7777
	file := e.Is(filetree.Regular)
	suid := file && bits&(filetree.SetUID|filetree.SetGID) != 0 && bits&0o011 != 0 || caps != 0
	suid = suid && !e.Closed
	known := p.uids[e.UID] && p.gids[e.GID] || procfs.DynamicUser(int(e.UID)) && (procfs.DynamicUser(int(e.GID)) || p.gids[e.GID])
	open := bits&filetree.OthersW != 0 && (file || bits&filetree.Sticky == 0)
	if !suid && (!system || known && !open && e.UID == 0 && bits&0o020 == 0) {
		return nil
	}
	one := foundFile{path: at.Path(), Entry: e, caps: caps, owner: m.ownerOf(p, e.UID, caps)}
	changeable := system && isProgram(one.path) && m.othersCanChange(one)
	return func() {
		if suid {
			r.setuid.add(one)
		}
		if !system {
			return
		}
		if open {
			r.writable.add(one)
		}
		if !known {
			r.unowned.add(one)
		}
		if changeable {
			r.programs.add(one)
		}
	}
}

// programDirs hold commands, the libraries of every program, and what else programs run and load, in folders
// of their own (FHS 3.0, 4).
var programDirs = []string{
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec",
}

// isProgram says whether a file or a folder is one of programDirs, below one, or leads to one.
func isProgram(name string) bool {
	return slices.Contains([]string{"/", "/usr", "/usr/local"}, name) || isBelowAny(name, programDirs)
}

// list is what a walk kept for a check.
func (r *walkResult) list(kept *fileList) audit.List[foundFile] {
	rest := r.incomplete()
	if rest == "" && kept.total > len(kept.list) {
		rest = fmt.Sprintf("of %d files %d were compared", kept.total, len(kept.list))
	}
	return audit.ListOf(kept.sorted(), rest)
}

func worldWritable(ctx context.Context, m *machine) audit.Finding {
	s, err := m.walkSystem(ctx)
	if err != nil {
		return audit.Unread("the files", err)
	}
	return s.list(&s.writable).Judge(func(found []foundFile) audit.Finding {
		if len(found) == 0 {
			return audit.Passed("None")
		}
		return audit.Failed(humanize.Count(s.writable.total, "file or folder", "files and folders")+" of the system can be written by everyone",
			"Take the right away from each one that is named: sudo chmod o-w FILE; a folder that must be shared gets the sticky bit: sudo chmod +t FOLDER").With(evidenceOf(found)...)
	})
}

func unowned(ctx context.Context, m *machine) audit.Finding {
	p, err := m.users()
	if err != nil {
		return audit.Unread("accounts", err)
	}
	if p.directoryService {
		return audit.Unseen("users come from a directory service as well (/etc/nsswitch.conf), which is not asked")
	}
	s, err := m.walkSystem(ctx)
	if err != nil {
		return audit.Unread("the files", err)
	}
	return s.list(&s.unowned).Judge(func(found []foundFile) audit.Finding {
		if len(found) == 0 {
			return audit.Passed("None")
		}
		return audit.Warned(humanize.Count(s.unowned.total, "file belongs", "files belong")+" to a user or group that does not exist",
			"Give each one that is named an owner, or remove it: sudo chown root:root FILE").With(evidenceOf(found)...)
	})
}

func programs(ctx context.Context, m *machine) audit.Finding {
	s, err := m.walkSystem(ctx)
	if err != nil {
		return audit.Unread("the files", err)
	}
	return s.list(&s.programs).And(m.openLinks(ctx), "").Judge(func(wrong []foundFile) audit.Finding {
		if len(wrong) == 0 {
			return audit.Passed("All belong to root")
		}
		for i := range wrong {
			wrong[i].list, _ = m.listed(wrong[i])
		}
		return audit.Failed(humanize.Count(len(wrong), "program", "programs")+" can be changed by users other than root",
			"Give each one that is named back to root: sudo chown root:root FILE; sudo chmod go-w FILE. If a package put it there, install the package again.").With(evidenceOf(wrong)...)
	})
}

// othersCanChange says whether somebody but root can change a program. One that has
// the set-user-ID bit may belong to the user of a service, as at(1) does: whether it should is
// for tree.setuid to say.
func (m *machine) othersCanChange(s foundFile) bool {
	if _, listed := m.listed(s); listed {
		return true
	}
	local := isBelow(s.path, "/usr/local")
	switch {
	case s.Mode&filetree.SetUID != 0 && s.Is(filetree.Regular):
		return s.Mode&0o022 != 0
	case int(s.UID) != m.Owner && s.UID != 0:
		return true
	case s.Mode&0o020 != 0 && s.GID != 0 && int(s.GID) != m.Owner && !local:
		return true
	default:
		return s.Mode&filetree.OthersW != 0 && s.Mode&filetree.Sticky == 0
	}
}
