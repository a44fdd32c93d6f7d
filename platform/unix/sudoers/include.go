// SPDX-License-Identifier: Apache-2.0

package sudoers

import (
	"fmt"
	"path"
	"strings"
)

// includeName returns the name in what stands behind "@include". There may be
// a comment after it.
func (r *reader) includeName(text string) string {
	name, after := cutWord(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		name, after, _ = strings.Cut(quoted, `"`)
		after = strings.TrimSpace(after)
	}
	if strings.Contains(name, `\`) || after != "" && after[0] != '#' {
		r.skip(ErrSyntax)
	}
	return name
}

func (r *reader) include(from, name string, depth int) {
	switch {
	case strings.Contains(name, "%h"):
		r.skip(ErrHost)
		return
	case name == "" || depth+1 >= maxDepth || len(r.policy.Files) >= maxFiles:
		r.skip(ErrTooMany)
		return
	case !path.IsAbs(name):
		name = path.Join(path.Dir(from), name)
	}
	raw, err := r.tree.Read(name)
	if err != nil {
		r.skip(fmt.Errorf("read %s: %w", name, err))
		return
	}
	r.file(name, raw, depth+1)
}

// includeDir reads the files of a directory in the order of their names. sudo passes
// over names with a dot in them or a tilde at their end.
func (r *reader) includeDir(from, dir string, depth int) {
	if strings.Contains(dir, "%h") {
		r.skip(ErrHost)
		return
	}
	if !path.IsAbs(dir) {
		dir = path.Join(path.Dir(from), dir)
	}
	names, err := r.tree.Names(dir)
	if err != nil {
		r.skip(fmt.Errorf("read %s: %w", dir, err))
		return
	}
	for _, name := range names {
		if !strings.Contains(name, ".") && !strings.HasSuffix(name, "~") {
			r.include(from, path.Join(dir, name), depth)
		}
	}
}
