// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sockdiag

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

var (
	// ErrNoUnix says that the kernel tells nothing of Unix sockets (CONFIG_UNIX_DIAG).
	ErrNoUnix = errors.New("the kernel does not tell who is connected with whom over Unix sockets")
	// ErrManyUnix says that there are too many of them to be read.
	ErrManyUnix = fmt.Errorf("there are more than %d connections over Unix sockets, or the kernel takes longer than %v to tell of them", maxUnix/2, unixTime)
)

// Bounds of [ReadUnix]: users have as many sockets as they like. A hundred thousand take some 0.1 s and 2.4 MB.
const (
	maxUnix  = 1 << 20
	unixTime = 2 * time.Second
)

// A UnixTable is what the kernel told of the connected stream sockets of AF_UNIX. The zero value is empty.
type UnixTable struct {
	list []UnixSocket // sorted by Inode
}

// ReadUnix reads those of the caller's network namespace. They are asked for all at once: to find a single one, the
// kernel goes over all of them, too. It is not a snapshot, as with [Dump]. It fails with [ErrNoUnix] and with [ErrManyUnix].
func ReadUnix(ctx context.Context) (UnixTable, error) {
	return readUnix(ctx, maxUnix, unixTime)
}

func readUnix(ctx context.Context, most int, limit time.Duration) (UnixTable, error) {
	all := family{familyRequest(familyUnix, 1<<stateConnected, showNameAndPeer), limit, ErrNoUnix, ErrManyUnix}
	var t UnixTable
	err := all.read(ctx, func(b []byte) error {
		s, connected, err := parseUnixSocket(b)
		switch {
		case err != nil || !connected:
			return err
		case len(t.list) == most:
			return ErrManyUnix
		}
		t.list = append(t.list, s)
		return nil
	})
	if err != nil {
		return UnixTable{}, err
	}
	slices.SortFunc(t.list, byInode)
	return t, nil
}

func byInode(a, b UnixSocket) int { return cmp.Compare(a.Inode, b.Inode) }

// Of returns the socket of an inode; ok is false where that is no connected stream, or of another namespace.
func (t UnixTable) Of(inode uint64) (s UnixSocket, ok bool) {
	at, ok := slices.BinarySearchFunc(t.list, UnixSocket{Inode: inode}, byInode)
	if ok {
		s = t.list[at]
	}
	return s, ok
}
