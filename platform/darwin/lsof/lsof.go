// SPDX-License-Identifier: Apache-2.0

// Package lsof reads the sockets of macOS and their processes from the field
// output of one run of lsof(8).
//
// Without root lsof silently leaves out the sockets of other users' processes, and even as root it
// leaves out sockets that no process holds any more, such as those in TIME_WAIT. Its output
// therefore serves to find the owners of sockets, not to list them all.
package lsof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/network"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/inet"
)

// program is the path of lsof.
const program = "/usr/sbin/lsof"

const (
	limit     = 5 * time.Second
	waitDelay = 200 * time.Millisecond // a program that only prints is not worth waiting for
	maxOutput = 16 << 20               // about a hundred thousand sockets
)

// arguments request numbers instead of host and port names, full command names, and the fields
// process, command, user, file, type, device, protocol, name and state.
var arguments = []string{"-nP", "+c", "0", "-iTCP", "-iUDP", "-FpcuftdPnT"}

const (
	firstPerson = 500 // where the numbers of people begin
	nobody      = -2  // an account of macOS, whose number is also printed as 4294967294
	unknown     = -1  // a user that was not printed
)

// A Socket is one TCP or UDP socket of a process.
type Socket struct {
	PID      int
	Command  string // name of the process, at most 32 bytes; its user chooses it
	UID      int    // effective user of the process; -1 where it was not printed
	Protocol network.Protocol
	// State is empty for a TCP socket whose state was not printed. A connected UDP socket is
	// ESTABLISHED, an unconnected one LISTEN.
	State network.State
	// Local may be a wildcard, 0.0.0.0 or [::], and has port 0 if the socket is not bound. Remote
	// is invalid if the socket is not connected.
	Local, Remote netip.AddrPort
	device        string // address of the kernel structure; the same for a socket shared by two processes
}

// Device is the address of the socket in the kernel, the same for all who hold it; it may be empty.
func (s Socket) Device() string { return s.device }

// OfSystem says that the process is one of root's or of an account of macOS, and so not one that an
// ordinary user has started and named.
func (s Socket) OfSystem() bool { return s.UID < firstPerson && s.UID != unknown }

// OfPerson says that the process is that of a person. It is false, as [Socket.OfSystem] is, where the
// user was not printed.
func (s Socket) OfPerson() bool { return s.UID >= firstPerson }

// Sockets returns the sockets that this user may see, once for each process that holds them.
func Sockets(ctx context.Context, runner sysexec.Runner) ([]Socket, error) {
	r, err := runner.Run(ctx, sysexec.Command{Path: program, Args: arguments, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	// Status 1 also means that nothing, or nothing of one protocol, was found.
	if r.Exit > 1 || r.Exit == 1 && len(r.Stdout) == 0 && complains(r.Stderr) {
		return nil, fmt.Errorf("lsof ended with status %d", r.Exit)
	}
	if r.Exit == 0 && len(bytes.TrimSpace(r.Stdout)) == 0 { // not an answer: status 1 would mean that there is none
		return nil, errNothing
	}
	return parse(r.Stdout)
}

// complains reports whether lsof printed anything but warnings.
func complains(stderr []byte) bool {
	for line := range strings.Lines(string(stderr)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "lsof: WARNING") {
			return true
		}
	}
	return false
}

var (
	errFields  = errors.New("lsof printed something other than fields")
	errNothing = errors.New("lsof printed nothing and reported success")
)

// A file collects the fields of one file until the next one begins.
type file struct {
	family, device, protocol, name, state string
}

// parse reads field output: one field per line, its letter first. The files of a process follow it,
// and each begins with its descriptor, or with its type if the descriptor was not requested.
func parse(raw []byte) ([]Socket, error) {
	var list []Socket
	var owner Socket
	var f file
	seen := map[Socket]bool{}
	end := func() {
		s, ok := f.socket(owner)
		if ok && (s.device == "" || !seen[s]) {
			list = append(list, s)
			seen[s] = true
		}
		f = file{}
	}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		letter, value := line[0], line[1:]
		switch letter {
		case 'p':
			end()
			pid, err := strconv.Atoi(value)
			if err != nil || pid < 0 {
				return nil, errFields
			}
			owner = Socket{PID: pid, UID: unknown}
		case 'c':
			owner.Command = unescaped(value)
		case 'u':
			uid, err := userID(value)
			if err != nil {
				return nil, err
			}
			owner.UID = uid
		case 'f':
			end()
		case 't', 'd', 'P', 'n', 'T':
			if letter == 't' && f.family != "" {
				end()
			}
			f.set(letter, value)
		default:
			return nil, errFields
		}
	}
	end()
	return list, nil
}

// userID parses a number of a user, which is signed or not.
func userID(value string) (int, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil || n < nobody || n == unknown || n > math.MaxUint32:
		return 0, errFields
	case n == 1<<32+nobody:
		return nobody, nil
	}
	return int(n), nil
}

func (f *file) set(letter byte, value string) {
	switch letter {
	case 't':
		f.family = value
	case 'd':
		f.device = value
	case 'P':
		f.protocol = value
	case 'n':
		f.name = value
	case 'T':
		if state, ok := strings.CutPrefix(value, "ST="); ok {
			f.state = state
		}
	}
}

// socket returns false for a file that is not a socket with an address.
func (f file) socket(owner Socket) (Socket, bool) {
	s := owner
	s.device = f.device
	v6 := f.family == "IPv6"
	local, remote, connected := strings.Cut(f.name, "->")
	var ok bool
	if s.Local, ok = address(local, v6); !ok || owner.PID == 0 {
		return s, false
	}
	if connected {
		if s.Remote, ok = address(remote, v6); !ok {
			return s, false
		}
	}
	switch f.protocol {
	case "TCP":
		s.Protocol = network.TCP
		s.State, _ = inet.State(f.state)
	case "UDP":
		s.Protocol, s.State = network.UDP, network.Listen
		if connected {
			s.State = network.Established
		}
	default:
		return s, false
	}
	return s, true
}

func address(text string, v6 bool) (netip.AddrPort, bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return netip.AddrPort{}, false
	}
	return inet.Address(text[:colon], text[colon+1:], v6)
}

// unescaped decodes the escapes (\x20) that lsof prints for blanks and non-ASCII bytes. Control
// characters stay escaped.
func unescaped(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, `\x`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = rest
		code, err := strconv.ParseUint(rest[:min(2, len(rest))], 16, 8)
		if err != nil || len(rest) < 2 || code < ' ' || code == 0x7f {
			out.WriteString(`\x`)
			continue
		}
		out.WriteByte(byte(code))
		text = rest[2:]
	}
}
