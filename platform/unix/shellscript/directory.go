// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"path"
	"slices"
	"strings"
)

// entered is where the commands after this one run, as far as the script says so.
func (r *Reader) entered(dir string, words []string) string {
	for len(words) > 0 && (keywords(words[0]) || words[0] == "builtin" || words[0] == "command") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return dir
	case words[0] == "popd":
		return ""
	case !slices.Contains([]string{"cd", "chdir", "pushd"}, words[0]):
		return dir
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") {
			return r.join(dir, word)
		}
	}
	return ""
}

// rooted reports whether a path needs no directory it is in.
func rooted(name string) bool {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "${HOME}"), "$HOME")
	return name == "" || strings.IndexByte("/~", name[0]) >= 0
}

// join is a path in a directory; "" if that or the path is unknown, or the two are longer than a path can
// be (PATH_MAX). Each command may have a directory of its own: what is made of them is work.
func (r *Reader) join(dir, name string) string {
	switch {
	case name == "" || strings.LastIndexByte(name, '$') > 0 || name[0] == '$' && !rooted(name):
		return ""
	case rooted(name):
		return name
	case dir == "" || len(dir)+len(name) >= maxName:
		return ""
	}
	if r.spend(len(dir) + len(name)); r.left == 0 {
		return ""
	}
	return path.Join(dir, name)
}
