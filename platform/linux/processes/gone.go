// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"strings"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

var errNoMounts = errors.New("the mounts of the system cannot be read")

// GonePrograms finds out what those of some processes are whose program was removed, or is in no mount of the system: any user
// mounts a file of theirs under another path. A process is named by a thread of it. lost are those whose thread ended
// meanwhile. Before Linux 5.8 the kernel does not tell the mount of a file, and only what was removed is found.
func (s *Source) GonePrograms(ctx context.Context, threads []int) (gone map[int]processes.Claim, lost []int, err error) {
	mounts := s.mountsHere()
	if mounts == nil {
		return nil, nil, errNoMounts
	}
	faces, err := s.proc.Faces(threads)
	if err != nil {
		return nil, nil, err
	}
	gone = map[int]processes.Claim{}
	for i, face := range faces {
		c := processes.Claim{PID: threads[i], Owner: -1}
		here := face.Mount == 0 || mounts[face.Mount]
		if face.Err == nil && here && !strings.HasSuffix(face.Program, " (deleted)") {
			continue
		}
		if face.Err == nil {
			c, face.Err = s.lasting(c)
		}
		switch {
		case ctx.Err() != nil:
			return gone, lost, ctx.Err()
		case procfs.Ended(face.Err):
			lost = append(lost, c.PID)
		case face.Err != nil:
			err = face.Err
		default:
			gone[c.PID] = c
		}
	}
	return gone, lost, err
}

// lasting is the claim of a thread that is there when it has been looked at: what one that ends has no more is
// empty, without an error.
func (s *Source) lasting(c processes.Claim) (processes.Claim, error) {
	uid, err := s.proc.UID(c.PID)
	if err != nil {
		return c, err
	}
	c.UserID = uid
	if c, err = s.claim(c, s.owner()); err != nil {
		return c, err
	}
	_, err = s.proc.Link(c.PID, "exe")
	return c, err
}
