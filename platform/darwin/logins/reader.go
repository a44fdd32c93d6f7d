// SPDX-License-Identifier: Apache-2.0

// Package logins reads on macOS what tells who logged in and who tried: the unified log (log(1)), the
// records of last(1), and the directory of local accounts (dscl(1)) with their keys.
package logins

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/authkeys"
)

// Bounds of what the programs print.
const (
	maxLog      = 32 << 20 // bytes; an entry takes some 900
	logLimit    = 12 * time.Second
	maxOutput   = 1 << 20
	maxPast     = 5000 // logins and starts of the machine; a line takes some 80 bytes
	outputLimit = 5 * time.Second
)

// A Reader reads with the programs of a runner, and keys below a root directory.
type Reader struct {
	root   string
	runner sysexec.Runner
	now    func() time.Time
}

var _ logins.Source = (*Reader)(nil)

// New returns the Reader for root; "/" is the live system.
func New(root string, runner sysexec.Runner, now func() time.Time) *Reader {
	return &Reader{root, runner, now}
}

// programs are those whose lines are asked for. What the login window refuses it logs in no form that
// is documented.
const programs = `process == "sshd" OR process == "sshd-session" OR process == "sshd-auth" OR process == "sudo" OR process == "su" OR process == "login"`

// Log implements [logins.Source]. The log has the path of each program from the kernel, so that no
// other can write in its name, and its user.
func (r *Reader) Log(ctx context.Context, since time.Time) (logins.Log, error) {
	log := logins.Log{Name: "log show"}
	log.Notes.Note("failures.loginwindow", "what the login window refuses is not known")
	out, err := r.run(ctx, maxLog, logLimit, "/usr/bin/log", "show", "--style", "ndjson", "--start", fmt.Sprintf("@%d", since.Unix()), "--predicate", programs)
	if err != nil {
		return log, err
	}
	lines, whole := parseLog(out)
	switch {
	case !whole && len(lines) == 0:
		return log, errors.New("log show printed something else than entries")
	case !whole:
		log.Notes.Note("failures", "log show was cut off before its end")
	}
	log.Lines = lines
	return log, nil
}

// Past implements [logins.Source].
func (r *Reader) Past(ctx context.Context) ([]logins.Record, logins.Notes, error) {
	out, err := r.run(ctx, maxOutput, outputLimit, "/usr/bin/last", "-"+strconv.Itoa(maxPast))
	if err != nil {
		return nil, nil, err
	}
	records, ended := parseLast(out, r.now().UTC())
	var notes logins.Notes
	switch {
	case !ended && len(records) == 0:
		return nil, nil, errors.New("last printed something else than logins")
	case !ended:
		oldest := records[len(records)-1].At.Format(time.RFC3339)
		notes.Note("last_logins", "what last(1) has before "+oldest+" is more than is read, or in another form, and not counted")
	}
	return records, notes, nil
}

// Accounts implements [logins.Source].
func (r *Reader) Accounts(ctx context.Context) ([]logins.Account, logins.Notes, error) {
	var notes logins.Notes
	notes.Note("account_changes", "macOS keeps no record of them that is read; new tells what changed since the last call as root")
	homes, err := r.list(ctx, "NFSHomeDirectory")
	if err != nil {
		return nil, notes, err
	}
	numbers, err := r.list(ctx, "UniqueID")
	if err != nil {
		return nil, notes, err
	}
	admins, err := r.admins(ctx)
	notes.Add("administrators", err)
	var list []logins.Account
	other := authkeys.Of(ctx, r.root, usersOf(homes, numbers), func(u userdb.User, files []authkeys.File, err error) {
		a := logins.Account{Name: u.Name, UID: u.UID, Admin: u.UID == 0 || admins[u.Name], KeysUnread: err != nil}
		for _, f := range files {
			for _, k := range f.Keys {
				a.Keys = append(a.Keys, logins.NewKey(u.Name, k.Type, k.Fingerprint, k.Comment, f.Name, f.Modified))
			}
		}
		if err != nil {
			notes.Note("keys."+u.Name, answer.Reason(err))
		}
		list = append(list, a)
	})
	notes.Add("keys", other)
	for _, setting := range authkeys.Elsewhere(r.root) {
		notes.Note("keys."+setting, "whom it lets in is in no file with keys; get_startup_items names what it runs or trusts")
	}
	return list, notes, nil
}

// list reads an attribute of all accounts, by their names.
func (r *Reader) list(ctx context.Context, attribute string) (map[string]string, error) {
	out, err := r.run(ctx, maxOutput, outputLimit, "/usr/bin/dscl", ".", "-list", "/Users", attribute)
	if err != nil {
		return nil, err
	}
	return parseList(out)
}

func (r *Reader) admins(ctx context.Context) (map[string]bool, error) {
	out, err := r.run(ctx, maxOutput, outputLimit, "/usr/bin/dscl", ".", "-read", "/Groups/admin", "GroupMembership")
	if err != nil {
		return nil, err
	}
	members, ok := strings.CutPrefix(string(out), "GroupMembership:")
	if !ok {
		return nil, errors.New("dscl names no members of the group admin")
	}
	found := map[string]bool{}
	for name := range strings.FieldsSeq(members) {
		found[name] = true
	}
	return found, nil
}

// run runs a program. One that ended with another status than 0 is an error.
func (r *Reader) run(ctx context.Context, most int, limit time.Duration, program string, args ...string) ([]byte, error) {
	result, err := r.runner.Run(ctx, sysexec.Command{Path: program, Args: args, MaxOutput: most, Timeout: limit})
	if err != nil {
		return nil, err
	}
	if result.Exit != 0 {
		said, _, _ := strings.Cut(strings.TrimSpace(string(result.Stderr)), "\n")
		return nil, fmt.Errorf("%s ended with status %d: %s", program, result.Exit, said)
	}
	return result.Stdout, nil
}
