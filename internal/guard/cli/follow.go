// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sentinel/internal/guard/record"
)

// errUnread ends what nobody reads any longer.
var errUnread = errors.New("nobody reads the output")

// follow prints the newest events and those that come, one a line, until a signal ends it or nobody
// reads any longer.
func (s *selection) follow(cmd *cobra.Command, want func(record.Event) bool, text func([]record.Event) string) error {
	want, err := s.wanted(want)
	if err != nil {
		return err
	}
	follower, err := record.NewFollower(record.Dir()) // before what is there is read, so that none is missed
	if err != nil {
		return unable(err)
	}
	known, err := record.Newest(cmd.Context(), record.Dir(), s.last, want)
	if err != nil {
		return unable(err)
	}
	write, err := eventWriter(cmd, text)
	if err != nil {
		return err
	}
	shown := map[string]uint64{} // up to which line of each session
	for _, e := range known {
		if err := write(e); err != nil {
			return over(err)
		}
		shown[e.SessionID] = max(shown[e.SessionID], e.Seq)
	}
	return over(follower.Run(cmd.Context(), func(e record.Event) error {
		if !want(e) || e.Seq <= shown[e.SessionID] {
			return nil
		}
		return write(e)
	}, func() error { return unread(cmd.OutOrStdout()) }))
}

// eventWriter returns what prints an event: as one line of JSON, or as text.
func eventWriter(cmd *cobra.Command, text func([]record.Event) string) (func(record.Event) error, error) {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return nil, err
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetEscapeHTML(false)
	if asJSON {
		return func(event record.Event) error { return e.Encode(event) }, nil
	}
	return func(event record.Event) error {
		_, err := io.WriteString(cmd.OutOrStdout(), text([]record.Event{event}))
		return err
	}, nil
}

// unread returns an error when w is a pipe or a terminal whose other side is gone: who waits for the
// next line would not hear of it from writing.
func unread(w io.Writer) error {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	if n, err := unix.Poll(fds, 0); err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return errUnread
	}
	return nil
}

// over says how following ended.
func over(err error) error {
	switch {
	case errors.Is(err, errUnread), errors.Is(err, syscall.EPIPE):
		return nil
	case errors.Is(err, context.Canceled):
		return &exit{status: StatusInterrupted}
	default:
		return unable(err)
	}
}
