// SPDX-License-Identifier: Apache-2.0

package shellscript

import "errors"

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
	left int // bytes
	cut  bool
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
// command, without keywords and builtins, and files that it reads as a script.
func (r *Reader) Programs(script string) []string { return frame{reader: r}.programs(script) }

// Command returns the programs of one command: the program itself, and if that runs another program
// or a script, this one too.
func (r *Reader) Command(words []string) []string { return frame{reader: r}.command(words) }

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
