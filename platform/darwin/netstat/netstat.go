// SPDX-License-Identifier: Apache-2.0

// Package netstat reads the sockets and interfaces of macOS from the output of netstat(1), which is
// the same for every user.
package netstat

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/inet"
)

// program is the path of netstat.
const program = "/usr/sbin/netstat"

const (
	limit     = 4 * time.Second
	waitDelay = 200 * time.Millisecond // a program that only prints is not worth waiting for
	maxOutput = 16 << 20               // about seventy thousand sockets
)

// A Socket is one TCP or UDP socket, whoever owns it.
type Socket struct {
	Protocol network.Protocol
	// State of a connected UDP socket is ESTABLISHED, that of an unconnected one LISTEN.
	State network.State
	// Local may be a wildcard, 0.0.0.0 or [::], and has port 0 if the socket is not bound. Remote
	// is invalid if the socket is not connected.
	Local, Remote netip.AddrPort
	PID           int    // of the process that last used the socket; 0 if not reported
	Command       string // its name, at most 16 bytes; empty on older releases
}

// Sockets returns all sockets of a protocol. Unlike lsof(8), it needs no root and includes sockets
// that no process holds any more.
func Sockets(ctx context.Context, runner sysexec.Runner, protocol network.Protocol) ([]Socket, error) {
	raw, err := run(ctx, runner, "-anvW", "-p", string(protocol))
	if err != nil {
		return nil, err
	}
	return parseSockets(raw, protocol)
}

func run(ctx context.Context, runner sysexec.Runner, arguments ...string) ([]byte, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: arguments, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("netstat ended with status %d", r.Exit)
	}
	return r.Stdout, nil
}

var (
	errSockets = errors.New("netstat printed no table of sockets")
	errAddress = errors.New("netstat printed an address that cannot be read")
)

// ownerColumn describes where a row names its process, counted from the end, since the name may contain
// blanks and the number of columns before it differs.
type ownerColumn struct {
	after int  // columns that follow; -1 if the table has no such column
	named bool // "process:pid" and not "pid", which "epid" follows
}

// parseSockets reads a table with its header. A machine that never had a socket prints nothing.
func parseSockets(raw []byte, protocol network.Protocol) ([]Socket, error) {
	var list []Socket
	o, found := ownerColumn{after: -1}, false
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 4 && fields[0] == "Proto":
			o, found = ownerOf(fields), true
		case !found && len(fields) > 0 && fields[0] != "Active":
			return nil, errSockets
		case len(fields) > 4 && isRow(fields[0], protocol):
			s, err := newSocket(fields, protocol, o)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// isRow reports whether a row is of protocol: "tcp4", "tcp6" or, for a dual-stack socket, "tcp46".
func isRow(proto string, protocol network.Protocol) bool {
	version, ok := strings.CutPrefix(proto, string(protocol))
	return ok && (version == "4" || version == "6" || version == "46")
}

func ownerOf(header []string) ownerColumn {
	if i := slices.Index(header, "process:pid"); i >= 0 {
		return ownerColumn{len(header) - 1 - i, true}
	}
	if i := slices.Index(header, "pid"); i >= 0 {
		return ownerColumn{len(header) - 1 - i, false}
	}
	return ownerColumn{after: -1}
}

func newSocket(fields []string, protocol network.Protocol, o ownerColumn) (Socket, error) {
	s := Socket{Protocol: protocol, State: network.Listen}
	v6 := strings.HasSuffix(fields[0], "6")
	var ok bool
	if s.Local, ok = address(fields[3], v6); !ok {
		return s, errAddress
	}
	if fields[4] != "*.*" {
		if s.Remote, ok = address(fields[4], v6); !ok {
			return s, errAddress
		}
		s.State = network.Established
	}
	if protocol == network.TCP {
		s.State = network.Closed // an unknown word must not count as an active connection
		if len(fields) > 5 {
			if state, known := inet.State(fields[5]); known {
				s.State = state
			}
		}
	}
	s.setOwner(fields, o)
	return s, nil
}

// own sets the process from the fields of a row.
func (s *Socket) setOwner(fields []string, o ownerColumn) {
	at := len(fields) - 1 - o.after
	if o.after < 0 || at <= 5 {
		return
	}
	number := fields[at]
	if o.named {
		var name string
		colon := strings.LastIndexByte(number, ':')
		name, number = number[:max(colon, 0)], number[colon+1:]
		words := fields[5:at]
		for len(words) > 0 && !isNumber(words[len(words)-1]) {
			name = words[len(words)-1] + " " + name
			words = words[:len(words)-1]
		}
		s.Command = name
	}
	if pid, err := strconv.Atoi(number); err == nil && pid > 0 {
		s.PID = pid
	} else {
		s.Command = ""
	}
}

func isNumber(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil
}

// address reads a host and a port with a dot between them.
func address(text string, v6 bool) (netip.AddrPort, bool) {
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 {
		return netip.AddrPort{}, false
	}
	return inet.Address(text[:dot], text[dot+1:], v6)
}
