// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sentinel/internal/startup"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/stuck"
)

const (
	forwardFile  = ".forward" // aliases(5)
	runtimePlace = "/run/user"
	maxHomes     = 500
	homeLimit    = time.Second // for one home: it may be on a server that does not answer
	homesAtOnce  = 8
	parseLimit   = 300 * time.Millisecond // for what was read of one home, and for the units of one user
	parsesLimit  = 2 * time.Second        // for all of them
	maxHomeNames = 500                    // in a directory of a home
	maxInHome    = 5000                   // in a home itself
	maxMail      = 1000                   // programs that mail is given to
	homeBytes    = 8 << 20                // of one home, its names included: a sparse file costs its user no disk
	allBytes     = 64 << 20               // of all homes; each has its share, which no other home can use up
	nameBytes    = 256                    // what a name takes beside its content
)

// shells finds what shells read for everybody.
func (s *survey) shells() {
	for _, name := range shellFiles {
		if f, ok := s.open(name); ok {
			s.fromTemplate(f, s.add(f, startup.Entry{Kind: startup.ShellStart, Name: path.Base(name), When: "shell", Enabled: new(true)}, sourcedPrograms([]byte(s.text(f)), s.shell(f))...))
		}
	}
}

// A home is what was read of the home of a user, or of the runtime directory. A reader that hangs goes
// on filling its own.
type home struct {
	user    userdb.User
	place   string          // the directory
	dirs    []homeDir       // below it
	single  []string        // files below it
	files   map[string]file // by their names below the home
	enabled map[string]bool // units
	unread  []startup.Unread
	left    int  // bytes that may still be kept
	cut     bool // not all was read
}

// errHome reports a home of which the rest was left out.
var errHome = errors.New("its files are larger together than expected: not all were read")

// spend counts what is kept.
func (h *home) spend(bytes int) {
	h.left = max(0, h.left-bytes)
	if h.left == 0 {
		h.leaveOut()
	}
}

// leaveOut notes, once, that not all is kept.
func (h *home) leaveOut() {
	if !h.cut {
		h.cut = true
		h.unread = append(h.unread, startup.Unread{Path: h.place, Err: errHome})
	}
}

// homes reads the homes side by side. One that does not answer costs its own time only.
func (s *survey) homes(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, homesLimit)
	defer cancel()
	keys, _ := authkeys.Patterns(s.Root)          //nolint:errcheck // said of its file by sshd
	s.principals, _ = authkeys.Principals(s.Root) //nolint:errcheck // the same
	read := append(s.userHomes(keys), s.runtimes()...)
	for _, h := range read {
		if h.user.UID != 0 {
			s.places[h.place] = h.user.Name
		}
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, homesAtOnce)
	for i, empty := range read {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			h, err := stuck.Look(reading, s.Root, empty.place, empty.user.UID, homeLimit, func(ctx context.Context) (*home, error) {
				h := *empty
				h.files, h.enabled = map[string]file{}, map[string]bool{}
				h.left = min(homeBytes, allBytes/len(read))
				err := s.with(&h.user, func() { s.readHome(ctx, &h) })
				return &h, cmp.Or(err, ctx.Err())
			})
			if err != nil {
				h = empty
				h.cut = true
				h.unread = []startup.Unread{{Path: h.place, Err: err}}
			}
			read[i] = h
		})
	}
	wait.Wait()
	s.parseHomes(ctx, read, keys)
}

// parseHomes adds what was read, the smallest homes first: what takes long to parse costs its own user.
func (s *survey) parseHomes(ctx context.Context, read []*home, keys []string) {
	ctx, cancel := context.WithTimeout(ctx, parsesLimit)
	defer cancel()
	slices.SortStableFunc(read, func(a, b *home) int { return cmp.Compare(a.size(), b.size()) })
	managers := map[int]*manager{}
	for _, h := range read {
		s.parseFor(ctx, func() { s.homeEntries(h, keys) })
		if managers[h.user.UID] == nil {
			managers[h.user.UID] = newManager(h.user)
		}
		managers[h.user.UID].take(h)
	}
	smallest := func(a, b int) int { return cmp.Or(cmp.Compare(managers[a].size, managers[b].size), cmp.Compare(a, b)) }
	for _, uid := range slices.SortedFunc(maps.Keys(managers), smallest) {
		s.parseFor(ctx, func() { s.homeUnits(managers[uid]) })
		delete(managers, uid) // of one user after the other, much may have been made of the files
	}
}

// parseFor parses files of one user, for a bounded time.
func (s *survey) parseFor(ctx context.Context, parse func()) {
	ctx, cancel := context.WithTimeout(ctx, parseLimit)
	defer cancel()
	s.ctx = ctx
	parse()
}

// late reports whether there is no more time for a file, and notes its place.
func (s *survey) late(f file) bool {
	err := s.ctx.Err()
	if err != nil {
		s.miss(cmp.Or(f.place, f.name), err)
	}
	return err != nil
}

// size is how many bytes were read of a home.
func (h *home) size() (bytes int) {
	for _, f := range h.files {
		bytes += len(f.raw)
	}
	return bytes
}

// userHomes are the homes of the accounts that have one of their own, to be read; each once.
func (s *survey) userHomes(keys []string) []*home {
	var list []*home
	seen := map[string]bool{}
	for _, u := range s.users {
		u.Home = path.Clean(u.Home)
		if !path.IsAbs(u.Home) || seen[u.Home] || slices.Contains([]string{"/", "/bin", "/sbin", "/dev", "/proc", "/sys", "/usr/bin", "/usr/sbin", "/nonexistent", "/var/empty"}, u.Home) {
			continue
		}
		seen[u.Home] = true
		if len(list) == maxHomes {
			s.miss("/home", startup.ErrTooMany)
			break
		}
		var single []string
		for _, pattern := range slices.Concat(keys, s.principals) {
			if below, ok := strings.CutPrefix(authkeys.Path(pattern, u), u.Home+"/"); ok {
				single = append(single, below)
			}
		}
		single = slices.Concat(single, nameFiles, homeFiles) // what lets somebody in comes first, as the first that is unread is named
		list = append(list, &home{user: u, place: u.Home, dirs: homeDirs, single: single})
	}
	return list
}

// runtimes are the runtime directories of the users who have one, which is theirs (pam_systemd(8)).
// Accounts of a directory service have one, too.
func (s *survey) runtimes() []*home {
	var list []*home
	for _, name := range s.names(runtimePlace) {
		place := path.Join(runtimePlace, name)
		f, err := hostfile.Lstat(s.path(place))
		uid, bad := strconv.Atoi(name)
		if err != nil || bad != nil || !f.Mode.IsDir() || s.live() && f.UID != uid {
			continue
		}
		if len(list) == maxHomes {
			s.miss(runtimePlace, startup.ErrTooMany)
			break
		}
		list = append(list, &home{user: s.account(s.owner(uid), uid, f.GID), place: place, dirs: runtimeDirs})
	}
	return list
}

// readHome reads with the rights of the user and follows no link out of the home. It uses nothing
// of the survey that changes, and stops when nobody waits for it any more.
func (s *survey) readHome(ctx context.Context, h *home) {
	for _, name := range h.single {
		s.readInHome(ctx, h, name)
	}
	if h.place == h.user.Home {
		s.readForwards(ctx, h)
	}
	for _, d := range h.dirs {
		for _, name := range s.namesInHome(ctx, h, d.path) {
			switch {
			case d.units():
				s.readUnits(ctx, h, path.Join(d.path, name))
			case strings.HasSuffix(name, d.suffix):
				s.readInHome(ctx, h, path.Join(d.path, name))
			}
		}
	}
}

// readForwards reads what says where mail goes: for an address with an extension there is a file of its own
// (local(8) of Postfix). Of the other names in a home nothing is kept.
func (s *survey) readForwards(ctx context.Context, h *home) {
	if ctx.Err() != nil {
		return
	}
	names, err := hostfile.NamesBelow(s.path(h.place), ".", maxInHome)
	if err != nil && !slices.Contains(names, forwardFile) {
		names = append(names, forwardFile) // which may be read where the others cannot be listed
	}
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(h.place, forwardFile+"+"), Err: hostfile.Reason(err)})
	}
	for _, name := range names {
		if isForward(name) {
			s.readInHome(ctx, h, name)
		}
	}
}

// isForward reports whether mail is forwarded by a file: of the account, or of one of its addresses "NAME+EXTENSION"
// or "NAME-EXTENSION".
func isForward(name string) bool {
	extension, ok := strings.CutPrefix(name, forwardFile)
	return ok && (extension == "" || strings.IndexByte("+-", extension[0]) >= 0)
}

// readUnits reads a name in a directory of units.
func (s *survey) readUnits(ctx context.Context, h *home, file string) {
	switch suffix := path.Ext(file); {
	case h.left == 0 && unitKinds[suffix] == "": // its lists would have no end
	case slices.Contains(wantedBy, suffix):
		for _, unit := range s.namesInHome(ctx, h, file) {
			h.enabled[unit] = true
		}
	case suffix == ".d":
		for _, one := range s.namesInHome(ctx, h, file) {
			if strings.HasSuffix(one, ".conf") {
				s.readInHome(ctx, h, path.Join(file, one))
			}
		}
	case unitKinds[suffix] != "" || isGroup(file):
		s.readInHome(ctx, h, file)
	}
}

func (s *survey) readInHome(ctx context.Context, h *home, name string) {
	if ctx.Err() != nil {
		return
	}
	limit := min(maxFile, h.left)
	raw, meta, err := hostfile.ReadBelow(s.path(h.place), name, limit)
	switch {
	case hostfile.Missing(err):
		return
	case errors.Is(err, hostfile.ErrTooLarge):
		if limit < maxFile && meta.Size <= maxFile { // for the sake of the others only
			h.leaveOut()
		}
		h.files[name] = file{name: path.Join(h.place, name), meta: meta, big: true, place: h.place}
	case err != nil:
		name = path.Join(h.place, name)
		if errors.Is(err, fs.ErrPermission) { // of the directory, which has others
			name = path.Dir(name)
		}
		h.unread = append(h.unread, startup.Unread{Path: name, Err: hostfile.Reason(err)})
	default:
		h.spend(len(raw))
		h.files[name] = file{name: path.Join(h.place, name), raw: raw, meta: meta, open: meta.Mode&0o002 != 0, place: h.place}
	}
}

func (s *survey) namesInHome(ctx context.Context, h *home, directory string) []string {
	if ctx.Err() != nil {
		return nil
	}
	names, err := hostfile.NamesBelow(s.path(h.place), directory, maxHomeNames)
	if err != nil && !hostfile.Missing(err) {
		h.unread = append(h.unread, startup.Unread{Path: path.Join(h.place, directory), Err: hostfile.Reason(err)})
	}
	for _, name := range names {
		h.spend(len(name) + nameBytes)
	}
	return names
}
