// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"errors"
	"fmt"

	"sentinel/internal/sessions"
	"sentinel/platform/linux/sockdiag"
)

// Unix implements [sessions.Source].
func (r *reading) Unix(ctx context.Context, list []sessions.SocketID) (found []sessions.Socket, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	if !r.unixRead {
		r.unix, r.unixErr = sockdiag.ReadUnix(ctx)
		r.unixRead = true // also where it failed, which takes as long for each who asks
	}
	switch err := r.unixErr; {
	case errors.Is(err, sockdiag.ErrNoUnix):
		return nil, fmt.Errorf("%w (%w)", sessions.ErrNotTold, err)
	case errors.Is(err, sockdiag.ErrManyUnix):
		return nil, &sessions.SkippedError{Err: err}
	case err != nil:
		return nil, err
	}
	for _, id := range list {
		if s, ok := r.unix.Of(inodeOf(id)); ok {
			found = append(found, sessions.Socket{ID: id, Protocol: "unix", Peer: sessions.SocketID(s.Peer), Accepted: r.accepted(s), UID: -1})
		}
	}
	return found, nil
}

// accepted reports whether a socket is a server's end. Clients of D-Bus bind their ends to abstract names, too (sd-bus),
// whereas a path that a client is bound to is rare.
func (r *reading) accepted(s sockdiag.UnixSocket) bool {
	if s.Name == sockdiag.Abstract {
		peer, _ := r.unix.Of(s.Peer)
		return peer.Name == sockdiag.Unnamed
	}
	return s.Name == sockdiag.Pathname
}
