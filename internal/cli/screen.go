// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// A screen is what a page is laid out for.
type screen struct {
	width, height int  // in columns and rows
	terminal      bool // not a pipe or a file
	colour        bool
}

// The screen that is assumed where there is no terminal to ask.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// screenOf describes the terminal at stdout. Of anything else, COLUMNS and LINES tell
// how long a line and a page may be: watch(1) sets both.
func screenOf(stdout io.Writer, env func(string) string) screen {
	s := screen{width: size(env("COLUMNS"), defaultWidth), height: size(env("LINES"), defaultHeight)}
	file, ok := stdout.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.terminal = true
	if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
		s.width, s.height = width, height
	}
	s.colour = env("NO_COLOR") == "" && !dumb(env("TERM"))
	return s
}

// dumb says that a terminal of this type can do no more than a printer.
func dumb(terminal string) bool { return terminal == "" || terminal == "dumb" }

// size reads a number of columns or rows.
func size(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return otherwise
}
