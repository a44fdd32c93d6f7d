// SPDX-License-Identifier: Apache-2.0

// Package dirpath keeps where directories are while a tree is walked: a directory has its name and knows the one that
// it is in. A user can nest directories until a path has a million bytes, and the paths of many would be more than a
// machine has.
package dirpath

// A Dir is the place of a directory below the one at which a walk begins, which is the zero Dir.
type Dir struct {
	Name   string
	above  *Dir
	head   *Dir // the nearest one above it whose path is no longer than MaxEnd
	length int
}

// In returns the place of a directory in d.
func (d *Dir) In(name string) Dir { return Dir{name, d, d.nearest(), d.length + len("/") + len(name)} }

// nearest is d, or what is above it, with a path no longer than MaxEnd.
func (d *Dir) nearest() *Dir {
	if d.length <= MaxEnd {
		return d
	}
	return d.head
}

// Len is the length of the path, in bytes.
func (d *Dir) Len() int { return d.length }

// From returns the path from a length on, at which a name ends: "/a/b".
func (d *Dir) From(length int) string {
	b := make([]byte, d.length-length)
	for at := d; at.length > length; at = at.above {
		start := at.length - length - len(at.Name)
		copy(b[start:], at.Name)
		b[start-1] = '/'
	}
	return string(b)
}

// MaxEnd bounds each end of a path that is told, in bytes. Together they are longer than any path that the kernel
// takes, so that one that was cut leads nowhere.
const MaxEnd = 8 << 10

// String returns the path, "/a/b", without its middle where it is very long; "" is where the walk begins.
func (d *Dir) String() string {
	if d.length <= 2*MaxEnd {
		return d.From(0)
	}
	end := d
	for d.length-end.above.length <= MaxEnd {
		end = end.above
	}
	return d.nearest().From(0) + "/…" + d.From(end.length)
}
