// SPDX-License-Identifier: Apache-2.0

// Package lazyregexp has regular expressions that are compiled when they are needed first: most runs
// need few of them, and to compile one costs up to 0.1 ms and 30 KB.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is a [regexp.Regexp] that is compiled with its first use. It may be used by several
// goroutines.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New returns an expression. One that is wrong panics with its first use.
func New(text string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Get returns the compiled expression.
func (r *Regexp) Get() *regexp.Regexp { return r.compiled() }
