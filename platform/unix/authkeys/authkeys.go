// SPDX-License-Identifier: Apache-2.0

// Package authkeys reads which keys let in through sshd: the files of AuthorizedKeysFile
// (sshd_config(5)), whose lines are those of authorized_keys (sshd(8)).
package authkeys

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/sshdconf"
	"sentinel/platform/unix/stuck"
)

// Bounds.
const (
	maxFile     = 256 << 10 // bytes of a file with keys
	maxKeys     = 200       // in a file
	maxUsers    = 2000
	homeLimit   = 2 * time.Second  // for the files of a user: an automatic mount and a disk that sleeps take their time
	homesLimit  = 10 * time.Second // for all of them
	maxPatterns = 100
	configLimit = 256 << 10
)

// Config is what names the files with keys.
const Config = "/etc/ssh/sshd_config"

const (
	keysFile  = "authorizedkeysfile"
	byDefault = ".ssh/authorized_keys .ssh/authorized_keys2"
)

// A Key is a public key that lets in.
type Key struct {
	Type        string // such as ssh-ed25519
	Fingerprint string // as ssh-keygen -l shows it
	Comment     string // as it stands there
	Options     string // as they stand there; empty for none
}

// A List is what was read of a file.
type List struct {
	Keys []Key // at most maxKeys
	More int   // keys beyond them
}

// Unread says what of the file is not among its keys; nil is nothing.
func (l List) Unread() error {
	if l.More == 0 {
		return nil
	}
	return fmt.Errorf("keys beyond the first %d: %d", maxKeys, l.More)
}

// A File holds the keys of a user.
type File struct {
	Name     string
	Modified time.Time
	Keys     []Key
}

// Of reads the files of users below root, "/" on a live system, and calls each with what it found, or
// why that is not all. It ends with ctx. The error says why there may be other files.
func Of(ctx context.Context, root string, users []userdb.User, each func(u userdb.User, files []File, err error)) error {
	patterns, unread := Patterns(root)
	reading, cancel := context.WithTimeout(ctx, homesLimit)
	defer cancel()
	for i, u := range users {
		switch {
		case i >= maxUsers:
			each(u, nil, fmt.Errorf("those of the first %d accounts are read", maxUsers))
			continue
		case reading.Err() != nil:
			each(u, nil, errors.New("homes before it did not answer in time"))
			continue
		}
		type found struct {
			files []File
			err   error
		}
		f, err := stuck.Look(reading, root, u.Home, u.UID, homeLimit, func(context.Context) (found, error) {
			files, err := read(root, u, patterns)
			return found{files, err}, nil
		})
		if err != nil {
			f.err = err
		}
		each(u, f.files, f.err)
	}
	return unread
}

// Patterns returns the names of the files with keys, as sshd_config(5) has them, of Match blocks as well:
// relative ones are below the home. Where the configuration cannot be read they are the usual ones. The
// error says what there may be besides.
func Patterns(root string) ([]string, error) { return patterns(root, keysFile, byDefault) }

// patterns are the names of files that a setting has, or else the usual ones.
func patterns(root, setting, usual string) ([]string, error) {
	c, err := config(root)
	if err != nil {
		return strings.Fields(usual), ignoreMissing(err)
	}
	var list []string
	for _, s := range c.Possible(setting) {
		list = add(list, s.Value)
	}
	if _, set := c.Global[setting]; !set {
		list = add(list, usual)
	}
	if len(list) > maxPatterns {
		return list[:maxPatterns], cmp.Or(c.Hole, sshdconf.ErrTooMany)
	}
	return list, c.Hole
}

// add adds the names of a setting that are not in a list, as long as it is not too long.
func add(list []string, value string) []string {
	for name := range strings.FieldsSeq(value) {
		if name != "none" && len(list) <= maxPatterns && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func config(root string) (sshdconf.Config, error) {
	tree := hostfile.Tree{Path: func(name string) string { return filepath.Join(root, name) }, MaxFile: configLimit, MaxNames: 1000}
	return sshdconf.Read(tree, Config)
}

func ignoreMissing(err error) error {
	if hostfile.Missing(err) {
		return nil
	}
	return hostfile.Reason(err)
}

// Elsewhere names the settings by which others than the files with keys let in; they are no account's.
func Elsewhere(root string) (settings []string) {
	c, err := config(root)
	if err != nil {
		return nil
	}
	for _, name := range []string{"AuthorizedKeysCommand", "TrustedUserCAKeys"} {
		if slices.ContainsFunc(c.Possible(strings.ToLower(name)), func(s sshdconf.Setting) bool { return s.Value != "none" }) {
			settings = append(settings, name)
		}
	}
	return settings
}

func read(root string, u userdb.User, patterns []string) (list []File, err error) {
	for _, pattern := range patterns {
		name := Path(pattern, u)
		raw, meta, unread := open(root, u, name)
		if unread == nil {
			found := Parse(raw)
			list = append(list, File{name, meta.Modified, found.Keys})
			unread = found.Unread()
		}
		if unread != nil && !hostfile.Missing(unread) {
			err = also(err, fmt.Errorf("%s: %w", name, hostfile.Reason(unread)))
		}
	}
	return list, err
}

func also(err, next error) error {
	if err == nil {
		return next
	}
	return fmt.Errorf("%w; %w", err, next)
}

// Path returns the file of a user that a pattern names, with the tokens of AuthorizedKeysFile replaced
// (sshd_config(5)).
func Path(pattern string, u userdb.User) string {
	name := strings.NewReplacer("%%", "%", "%h", u.Home, "%u", u.Name, "%U", strconv.Itoa(u.UID)).Replace(pattern)
	if !path.IsAbs(name) {
		name = path.Join(u.Home, name)
	}
	return path.Clean(name)
}

// open reads a file in a home without leaving it: its user may have put links there.
func open(root string, u userdb.User, name string) ([]byte, hostfile.Meta, error) {
	home := path.Clean(u.Home)
	if below, ok := strings.CutPrefix(name, home+"/"); ok && path.IsAbs(home) && home != "/" {
		return hostfile.ReadBelow(filepath.Join(root, home), below, maxFile)
	}
	full := filepath.Join(root, name)
	meta, err := hostfile.Stat(full)
	if err != nil {
		return nil, meta, err
	}
	raw, err := hostfile.Read(full, maxFile)
	return raw, meta, err
}

// Parse returns the keys of a file. A line that holds none, as sshd sees it, has none. sshd has no bound
// for a line; here it is that of the file.
func Parse(raw []byte) (l List) {
	for line := range bytes.Lines(raw) {
		line, _, _ = bytes.Cut(line, []byte{0}) // where a text ends for sshd
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		k, ok := parseLine(text)
		switch {
		case ok && len(l.Keys) == maxKeys:
			l.More++
		case ok:
			l.Keys = append(l.Keys, k)
		}
	}
	return l
}

// parseLine parses "[options] type key [comment]". Options have quotes that may hold blanks, and
// hardly any form; the key proves its type, because it begins with its name (RFC 4253, 6.6).
func parseLine(line string) (Key, bool) {
	options := ""
	for range 2 {
		kind, rest := word(line)
		encoded, comment := word(rest)
		if blob, err := decode(encoded); err == nil {
			if name := nameOf(blob); name != "" && (name == kind || aliases[strings.ToLower(kind)] == name) {
				sum := sha256.Sum256(blob)
				return Key{name, "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), comment, options}, true
			}
		}
		at := optionsEnd(line)
		options, line = line[:at], strings.TrimLeft(line[at:], " \t")
	}
	return Key{}, false
}

// aliases are other names by which sshd takes a key: those of its signatures, and until OpenSSH 9 short
// ones in any case (sshkey.c).
var aliases = map[string]string{
	"rsa-sha2-256": "ssh-rsa", "rsa-sha2-512": "ssh-rsa", "rsa": "ssh-rsa", "dsa": "ssh-dss", "ed25519": "ssh-ed25519", "ed25519-sk": "sk-ssh-ed25519@openssh.com",
	"ecdsa-sk": "sk-ecdsa-sha2-nistp256@openssh.com", "webauthn-sk-ecdsa-sha2-nistp256@openssh.com": "sk-ecdsa-sha2-nistp256@openssh.com",
}

// decode passes over white space within a key, as sshd does (b64_pton of OpenSSH); the decoder itself does
// so for the ends of lines.
func decode(encoded string) ([]byte, error) {
	return base64.StdEncoding.Strict().DecodeString(noSpace.Replace(encoded))
}

var noSpace = strings.NewReplacer("\v", "", "\f", "")

// word cuts a line after its first word.
func word(line string) (first, rest string) {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimLeft(line[at:], " \t")
}

// nameOf returns the type that a key says it is of; "" for what is no key.
func nameOf(blob []byte) string {
	if len(blob) < 4 {
		return ""
	}
	n := uint64(binary.BigEndian.Uint32(blob))
	if uint64(len(blob)) <= 4+n {
		return ""
	}
	return string(blob[4 : 4+n])
}

// optionsEnd returns where the options end: at the first blank that is not in quotes.
func optionsEnd(line string) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '"':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
			return i
		}
	}
	return len(line)
}
