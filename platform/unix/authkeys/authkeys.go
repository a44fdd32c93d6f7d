// SPDX-License-Identifier: Apache-2.0

// Package authkeys reads which keys let in through sshd: the files of AuthorizedKeysFile
// (sshd_config(5)), whose lines are those of authorized_keys (sshd(8)).
package authkeys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/sshdconf"
)

// Bounds.
const (
	maxFile     = 256 << 10 // bytes of a file with keys
	maxKeys     = 200       // in a file
	maxUsers    = 2000
	maxLine     = 16 << 10
	homeLimit   = 2 * time.Second // for the files of a user, whose home may lie on a dead server
	maxHanging  = 2
	configLimit = 256 << 10
)

const (
	sshdConfig = "/etc/ssh/sshd_config"
	byDefault  = ".ssh/authorized_keys .ssh/authorized_keys2"
)

// A Key is a public key that lets in.
type Key struct {
	Type        string // such as ssh-ed25519
	Fingerprint string // as ssh-keygen -l shows it
	Comment     string // as it stands there
	Options     string // as they stand there; empty for none
}

// A File holds the keys of a user.
type File struct {
	Name     string
	Modified time.Time
	Keys     []Key
}

// Of reads the files of users below root, "/" on a live system, and calls each with what it found, or
// why that is not all. It ends with ctx.
func Of(ctx context.Context, root string, users []userdb.User, each func(u userdb.User, files []File, err error)) {
	patterns := Patterns(root)
	hanging := 0
	for _, u := range users[:min(len(users), maxUsers)] {
		if hanging == maxHanging || ctx.Err() != nil {
			each(u, nil, errors.New("homes before it did not answer in time"))
			continue
		}
		type found struct {
			files []File
			err   error
		}
		f, err := deadline.Call(ctx, homeLimit, func(context.Context) (found, error) {
			files, err := read(root, u, patterns)
			return found{files, err}, nil
		})
		if err != nil {
			hanging++
			f.err = err
		}
		each(u, f.files, f.err)
	}
}

// Patterns returns the names of the files with keys, as sshd_config(5) has them: relative ones are
// below the home. Where the configuration cannot be read they are the usual ones.
func Patterns(root string) []string {
	tree := hostfile.Tree{Path: func(name string) string { return filepath.Join(root, name) }, MaxFile: configLimit, MaxNames: 1000}
	value := byDefault
	if c, err := sshdconf.Read(tree, sshdConfig); err == nil {
		if s, known := (sshdconf.Server{Files: c}).Setting("authorizedkeysfile", byDefault); known && s.Value != "none" {
			value = s.Value
		}
	}
	return strings.Fields(value)
}

func read(root string, u userdb.User, patterns []string) (list []File, err error) {
	for _, pattern := range patterns {
		name := expand(pattern, u)
		raw, meta, readErr := open(root, u, name)
		switch {
		case hostfile.Missing(readErr):
		case readErr != nil:
			err = fmt.Errorf("%s: %w", name, hostfile.Reason(readErr))
		default:
			list = append(list, File{name, meta.Modified, Parse(raw)})
		}
	}
	return list, err
}

// expand replaces the tokens of AuthorizedKeysFile (sshd_config(5)).
func expand(pattern string, u userdb.User) string {
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

// Parse returns the keys of a file. A line that holds none, as sshd sees it, has none.
func Parse(raw []byte) (list []Key) {
	for line := range bytes.Lines(raw) {
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' || len(line) > maxLine {
			continue
		}
		if k, ok := parseLine(text); ok && len(list) < maxKeys {
			list = append(list, k)
		}
	}
	return list
}

// parseLine parses "[options] type key [comment]". Options have quotes that may hold blanks, and
// hardly any form; the key proves its type, because it begins with its name (RFC 4253, 6.6).
func parseLine(line string) (Key, bool) {
	options := ""
	for range 2 {
		kind, rest := word(line)
		encoded, comment := word(rest)
		if blob, err := base64.StdEncoding.DecodeString(encoded); err == nil && names(blob, kind) {
			sum := sha256.Sum256(blob)
			return Key{kind, "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), comment, options}, true
		}
		at := optionsEnd(line)
		options, line = line[:at], strings.TrimLeft(line[at:], " \t")
	}
	return Key{}, false
}

// word cuts a line after its first word.
func word(line string) (first, rest string) {
	at := strings.IndexAny(line, " \t")
	if at < 0 {
		return line, ""
	}
	return line[:at], strings.TrimLeft(line[at:], " \t")
}

// names reports whether a key says that it is of a type.
func names(blob []byte, kind string) bool {
	if len(blob) < 4 || kind == "" {
		return false
	}
	n := binary.BigEndian.Uint32(blob)
	return n == uint32(len(kind)) && len(blob) > 4+len(kind) && string(blob[4:4+len(kind)]) == kind
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
