// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"path"
	"strings"

	"sentinel/platform/darwin/lsof"
)

// base is the name that a process has of its program: the last part of the path,
// which for an application is that of its bundle.
func base(name string) string { return strings.TrimSuffix(path.Base(name), ".app") }

func protocol(s lsof.Socket) string { return strings.ToLower(string(s.Protocol)) }

// safe are the characters of a path that no shell takes for more.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

// plain reports whether a shell takes a path literally.
func plain(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(safe, r) })
}
