// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/sockdiag"
)

// Unix implements [sessions.Source].
func (r *reading) Unix(ctx context.Context, list []sessions.SocketID) (found []sessions.Socket, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	asked := list[:min(len(list), sockdiag.MaxUnix-r.unixAsked)]
	r.unixAsked += len(asked)
	if len(asked) < len(list) {
		err = &sessions.SkippedError{Err: fmt.Errorf("more than %d sockets are not asked about", sockdiag.MaxUnix)}
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, sockdiag.UnixTime-r.unixTook)
	defer cancel()
	found, failed := unixSockets(limited, asked)
	r.unixTook += time.Since(began)
	switch {
	case errors.Is(failed, sockdiag.ErrNoUnix):
		failed = fmt.Errorf("%w (%w)", sessions.ErrNotTold, failed)
	case failed != nil && limited.Err() != nil && ctx.Err() == nil:
		failed = &sessions.SkippedError{Err: fmt.Errorf("there are so many Unix sockets that the kernel takes longer than %v", sockdiag.UnixTime)}
	}
	return found, errors.Join(err, failed)
}

func unixSockets(ctx context.Context, list []sessions.SocketID) (found []sessions.Socket, err error) {
	inodes := make([]uint64, len(list))
	for i, id := range list {
		inodes[i] = inodeOf(id)
	}
	var abstract []sockdiag.UnixSocket
	take := func(s sockdiag.UnixSocket, accepted bool) {
		found = append(found, sessions.Socket{ID: sessions.SocketID(s.Inode), Protocol: "unix", Peer: sessions.SocketID(s.Peer), Accepted: accepted, UID: -1})
	}
	err = sockdiag.Unix(ctx, inodes, func(s sockdiag.UnixSocket) {
		if isAbstract(s.Name) {
			abstract = append(abstract, s)
			return
		}
		take(s, s.Name != "")
	})
	named, more := namedPeers(ctx, abstract)
	for _, s := range abstract {
		take(s, !named[s.Peer])
	}
	return found, errors.Join(err, more)
}

// isAbstract reports whether a name is no path. Clients of D-Bus bind their ends to such names, too (sd-bus), whereas
// a path that a client is bound to is rare.
func isAbstract(name string) bool { return strings.HasPrefix(name, "\x00") }

// namedPeers tells which of the other ends have a name, and so may be those of the server.
func namedPeers(ctx context.Context, list []sockdiag.UnixSocket) (map[uint64]bool, error) {
	peers := make([]uint64, len(list))
	for i, s := range list {
		peers[i] = s.Peer
	}
	named := map[uint64]bool{}
	err := sockdiag.Unix(ctx, peers, func(s sockdiag.UnixSocket) { named[s.Inode] = s.Name != "" })
	return named, err
}
