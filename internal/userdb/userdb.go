// SPDX-License-Identifier: Apache-2.0

// Package userdb parses the files of local accounts: passwd(5), shadow(5), group(5), subuid(5)
// and login.defs(5). Accounts of directory services or systemd-userdbd are in none
// of them.
package userdb

import (
	"bytes"
	"strconv"
	"strings"
)

// MaxFile bounds how much of a file callers need to read, in bytes: enough for
// maxLines accounts.
const MaxFile = 16 << 20

// maxLines bounds how many accounts are parsed.
const maxLines = 200_000

// A User is one line of passwd.
type User struct {
	Name     string
	Password string // "x" where it is in shadow
	UID, GID int
	Home     string
	Shell    string // "" means /bin/sh
	Line     int
}

// A Secret is one line of shadow.
type Secret struct {
	Name    string
	Hash    string
	Line    int
	Changed int // when the password was set, in days since 1970; 0 if unknown, or to be set at the next login
}

// A Group is one line of group.
type Group struct {
	Name    string
	GID     int
	Members []string // users whose primary group is another one
	Line    int
}

// Passwd returns the accounts, and the numbers of malformed lines. NIS entries
// ("+", "-") and comments are neither.
func Passwd(raw []byte) (users []User, bad []int) {
	return lines(raw, 7, func(f []string, line int) (User, bool) {
		uid, ok1 := number(f[2])
		gid, ok2 := number(f[3])
		return User{f[0], f[1], uid, gid, f[5], f[6], line}, ok1 && ok2
	})
}

// Shadow returns the password entries, and the numbers of malformed lines.
func Shadow(raw []byte) (secrets []Secret, bad []int) {
	return lines(raw, 9, func(f []string, line int) (Secret, bool) {
		day, _ := number(f[2])
		return Secret{f[0], f[1], line, day}, true
	})
}

// Groups returns the groups, and the numbers of malformed lines.
func Groups(raw []byte) (groups []Group, bad []int) {
	return lines(raw, 4, func(f []string, line int) (Group, bool) {
		gid, ok := number(f[2])
		return Group{f[0], gid, strings.FieldsFunc(f[3], func(r rune) bool { return r == ',' }), line}, ok
	})
}

// lines parses lines of the given number of fields, separated by colons.
func lines[T any](raw []byte, fields int, parse func(f []string, line int) (T, bool)) (list []T, bad []int) {
	number := 0
	for line := range bytes.Lines(raw) {
		if number++; number > maxLines {
			return list, append(bad, number)
		}
		text := strings.TrimRight(string(line), "\n")
		if text == "" || strings.ContainsRune("#+-", rune(text[0])) {
			continue
		}
		f := strings.Split(text, ":")
		if len(f) != fields || f[0] == "" {
			bad = append(bad, number)
			continue
		}
		one, ok := parse(f, number)
		if !ok {
			bad = append(bad, number)
			continue
		}
		list = append(list, one)
	}
	return list, bad
}

func number(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil
}

// A Strength is how well a stored password withstands guessing.
type Strength int

// The strengths of a password field (crypt(5)).
const (
	Locked  Strength = iota // no password matches
	Empty                   // no password is required
	Strong                  // yescrypt, scrypt, bcrypt, SHA-512, SHA-256
	Weak                    // DES, MD5, NT and other fast or short hashes
	Unknown                 // a form that is not known
)

// StrengthOf judges a password field.
func StrengthOf(field string) Strength {
	if field == "" {
		return Empty
	}
	hash := strings.TrimLeft(field, "!")
	switch {
	case hash == "" || hash[0] == '*' || hash == "x" || hash == "LK" || hash == "NP":
		return Locked
	case hash[0] == '_' || isDES(hash):
		return Weak
	case hash[0] != '$' && len(hash) < shortestHash:
		return Locked // no method makes one as short
	case hash[0] != '$':
		return Unknown
	}
	method, _, _ := strings.Cut(hash[1:], "$")
	method, _, _ = strings.Cut(method, ",")
	switch method {
	case "y", "gy", "sm3y", "7", "6", "5", "2a", "2b", "2y":
		return Strong
	case "1", "3", "md5", "sha1", "2", "2x":
		return Weak
	default:
		return Unknown
	}
}

// shortestHash is the length of a hash of DES with its salt.
const shortestHash = 13

// isDES says whether a hash has the form of DES, or of bigcrypt, which is longer
// (crypt(5)).
func isDES(hash string) bool {
	return len(hash) >= shortestHash && !strings.ContainsFunc(hash, func(c rune) bool {
		return (c < '.' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
}

// A Default is one setting of login.defs.
type Default struct {
	Value string
	Line  int
}

// LoginDefs returns the settings by name. The last one of each name counts.
func LoginDefs(raw []byte) map[string]Default {
	list := map[string]Default{}
	number := 0
	for line := range bytes.Lines(raw) {
		if number++; number > maxLines {
			break
		}
		f := strings.Fields(string(line))
		if len(f) < 2 || f[0][0] == '#' {
			continue
		}
		list[f[0]] = Default{strings.Trim(f[1], `"`), number}
	}
	return list
}
