// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sockdiag

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNoVSock says that the kernel tells nothing of AF_VSOCK (CONFIG_VSOCKETS_DIAG).
	ErrNoVSock = errors.New("the kernel does not tell what listens on AF_VSOCK")
	// ErrManyVSock says that telling of them takes too long.
	ErrManyVSock = fmt.Errorf("the kernel takes longer than %v to tell what listens on AF_VSOCK", vsockTime)
)

// vsockTime bounds [DumpVSock]: users have as many sockets as they like.
const vsockTime = 2 * time.Second

// DumpVSock calls visit for every socket of AF_VSOCK that listens in the caller's network namespace. It is not a
// snapshot, as with [Dump]. It fails with [ErrNoVSock] and with [ErrManyVSock].
func DumpVSock(ctx context.Context, visit func(VSock)) error {
	all := family{familyRequest(familyVSock, 1<<stateListen, 0), vsockTime, ErrNoVSock, ErrManyVSock}
	return all.read(ctx, func(b []byte) error {
		s, listens, err := parseVSock(b)
		if listens {
			visit(s)
		}
		return err
	})
}
