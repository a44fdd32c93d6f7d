// SPDX-License-Identifier: Apache-2.0

package shellscript

import (
	"errors"
	"strings"
)

// Bounds of the work on what stands within a command: a byte of a script is looked at once for each
// level of quotes, substitutions and here-documents that it is in.
const (
	levels = 8
	spare  = 4 << 10 // bytes
)

// ErrCut reports programs, or commands within commands, that were left out.
var ErrCut = errors.New("it names more programs, or has more commands within commands, than are looked at: not all were")

// A Reader finds the programs that the commands of one file start. A text may be a script for more
// than one command, and so at every level below: a few hundred bytes can stand for work without an
// end. What is done for a file is bounded by its size.
type Reader struct {
	left        int // bytes
	cut         bool
	customPath  bool // programs are looked for in other directories than those of the system
	pathChanged bool // the same, from where the script that is read says so
}

// NewReader returns the reader of a file of so many bytes.
func NewReader(size int) *Reader { return &Reader{left: levels*size + spare} }

// Err is ErrCut if not all could be looked at.
func (r *Reader) Err() error {
	if r.cut {
		return ErrCut
	}
	return nil
}

// Programs returns the programs that a script names, each once, in their order: what can be a
// command, without keywords and builtins, and files that it reads as a script. One without a directory is
// "$PATH/NAME" where something names other directories than those of the system for it to be in.
func (r *Reader) Programs(script string) []string { return r.Fed(script, "") }

// Fed is Programs for a script of which the commands read input, which is a script for a shell among them.
func (r *Reader) Fed(script, input string) []string {
	return r.frame(&simple{input: input}).programs(script)
}

func (r *Reader) frame(in *simple) frame {
	r.pathChanged = r.customPath
	return frame{reader: r, in: in}
}

// Command returns the programs of one command: the program itself, and if that runs another program
// or a script, this one too.
func (r *Reader) Command(words []string) []string { return r.frame(nil).command(words) }

// Environment returns what assignments "NAME=value" make programs load or run. All that is read afterwards runs in
// this environment.
func (r *Reader) Environment(assignments []string) (list []string) {
	f := r.frame(nil)
	for _, word := range assignments {
		if strings.Contains(word, "=") {
			list = append(list, f.loaded(word)...)
		}
	}
	r.customPath = r.pathChanged
	return list
}

// HasCustomPath reports whether programs without a directory are looked for in other directories than those of the system.
func (r *Reader) HasCustomPath() bool { return r.customPath }

// UseCustomPath has programs without a directory looked for there.
func (r *Reader) UseCustomPath() { r.customPath = true }

// part returns what may still be looked at of a text within another.
func (r *Reader) part(text string) string {
	text, whole := text[:min(len(text), r.left)], len(text)
	r.spend(whole)
	return text
}

// spend counts bytes that were looked at, in vain too: for the end of what is never closed.
func (r *Reader) spend(bytes int) {
	r.cut = r.cut || bytes > r.left
	r.left = max(0, r.left-bytes)
}
