// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sentinel/internal/processes"
	"sentinel/platform/linux/procfs"
)

var errNoMounts = errors.New("the mounts of the system cannot be read")

// GonePrograms finds out what those of some processes are whose program was removed, is in no mount of the system, or
// is not what they run, and of all that a dynamic loader runs: any user mounts a file of theirs under another path, or
// has a process shown with any program ([procfs.FS.Unmapped]). A process is named by a thread of it. lost are those whose thread ended
// meanwhile. Before Linux 5.8 the kernel does not tell the mount of a file, and that alone tells nothing.
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
	for i, thread := range threads[:len(faces)] {
		c, is, unread := s.gone(thread, faces[i], mounts)
		switch {
		case ctx.Err() != nil:
			return gone, lost, ctx.Err()
		case procfs.Ended(unread):
			lost = append(lost, c.PID)
		case unread != nil:
			err = fmt.Errorf("process %d: %w", c.PID, unread)
		}
		if is {
			gone[c.PID] = c
		}
	}
	return gone, lost, err
}

// gone judges one of them by what the kernel calls its program. Where its memory is kept from being read, what is
// known otherwise counts.
func (s *Source) gone(thread int, face procfs.Face, mounts map[uint64]bool) (c processes.Claim, is bool, err error) {
	c = processes.Claim{PID: thread, Owner: -1}
	if face.Err != nil {
		return c, false, face.Err
	}
	here := face.Mount == 0 || mounts[face.Mount]
	unmapped, unread := s.proc.Unmapped(thread)
	if here && !unmapped && !strings.HasSuffix(face.Program, " (deleted)") && !procfs.IsTooLong(face.Program) && !daemons.Load(face.Program) {
		return c, false, unread
	}
	if c, err = s.lasting(c); err != nil {
		return c, false, err
	}
	c, err = s.loaded(c)
	return c, true, err
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
