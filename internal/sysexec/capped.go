// SPDX-License-Identifier: Apache-2.0

package sysexec

import "bytes"

// capped keeps the first bytes of a stream and drops the rest, so that a
// program that floods its output is not blocked and does not fill memory. The buffer
// is not embedded: io.Copy would call its ReadFrom, which has no cap.
type capped struct {
	kept     bytes.Buffer
	left     int
	overflow bool
	over     func() // what to do when it overflows; may be nil

	whole    func([]byte) bool // whether it is an answer; nil once it was one, or without anybody who asks
	answered chan []byte       // gets that answer
}

func newCapped(limit int) *capped {
	if limit <= 0 {
		limit = DefaultMaxOutput
	}
	return &capped{left: limit}
}

// Write implements [io.Writer].
func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if n < len(p) && !c.overflow {
		c.overflow = true
		if c.over != nil {
			c.over()
		}
	}
	c.kept.Write(p[:n])
	if c.whole != nil && bytes.HasSuffix(p, []byte("\n")) && c.whole(c.kept.Bytes()) {
		c.answered <- bytes.Clone(c.kept.Bytes())
		c.whole = nil
	}
	return len(p), nil
}
