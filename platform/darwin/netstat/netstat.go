// SPDX-License-Identifier: Apache-2.0

// Package netstat reads sockets and interfaces of macOS from what netstat(1)
// prints, which is the same for every user.
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

// program is where macOS has netstat.
const program = "/usr/sbin/netstat"

const (
	limit     = 4 * time.Second
	patience  = 200 * time.Millisecond // a program that only prints is not worth waiting for
	maxOutput = 16 << 20               // about seventy thousand sockets
)

// A Socket is one TCP or UDP socket, whoever owns it.
type Socket struct {
	Protocol network.Protocol
	// State of a UDP socket with another end is ESTABLISHED, of one without LISTEN.
	State network.State
	// Local may be a wildcard, 0.0.0.0 or [::], and its port 0 for a socket that
	// is not bound. Remote is not valid where there is no other end.
	Local, Remote netip.AddrPort
	PID           int    // of the process that last used the socket; 0 when it is not told
	Command       string // its name, at most 16 bytes; empty in the form of older releases
}

// Sockets returns all sockets of a protocol. Other than lsof(8) it needs no root
// and knows those that no process has any more.
func Sockets(ctx context.Context, runner sysexec.Runner, protocol network.Protocol) ([]Socket, error) {
	raw, err := run(ctx, runner, "-anvW", "-p", string(protocol))
	if err != nil {
		return nil, err
	}
	return parseSockets(raw, protocol)
}

func run(ctx context.Context, runner sysexec.Runner, arguments ...string) ([]byte, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: arguments, Timeout: limit, WaitDelay: patience, MaxOutput: maxOutput})
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

// owner says where a row names its process, counted from its end, since the
// name may hold blanks: before it the number of columns differs as well.
type owner struct {
	after int  // columns that follow; -1 where there is none
	named bool // "process:pid" and not "pid", which "epid" follows
}

// parseSockets reads a table with its header. A machine that never had a socket
// prints neither.
func parseSockets(raw []byte, protocol network.Protocol) ([]Socket, error) {
	var list []Socket
	o, found := owner{after: -1}, false
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

// isRow says that a row is of protocol: "tcp4", "tcp6" or, for a socket that
// takes both, "tcp46".
func isRow(proto string, protocol network.Protocol) bool {
	version, ok := strings.CutPrefix(proto, string(protocol))
	return ok && (version == "4" || version == "6" || version == "46")
}

func ownerOf(header []string) owner {
	if i := slices.Index(header, "process:pid"); i >= 0 {
		return owner{len(header) - 1 - i, true}
	}
	if i := slices.Index(header, "pid"); i >= 0 {
		return owner{len(header) - 1 - i, false}
	}
	return owner{after: -1}
}

func newSocket(fields []string, protocol network.Protocol, o owner) (Socket, error) {
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
		s.State = network.Closed // a word that is none is not a state in which there is traffic
		if len(fields) > 5 {
			if state, known := inet.State(fields[5]); known {
				s.State = state
			}
		}
	}
	s.own(fields, o)
	return s, nil
}

// own reads the process of a row.
func (s *Socket) own(fields []string, o owner) {
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
