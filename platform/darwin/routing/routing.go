// SPDX-License-Identifier: Apache-2.0

// Package routing reads the default routes of macOS, its interfaces with their addresses, and its
// name servers from the output of route(8), ifconfig(8) and scutil(8).
package routing

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// Paths of the programs since Mac OS X 10.3.
const (
	routeProgram    = "/sbin/route"
	ifconfigProgram = "/sbin/ifconfig"
	scutilProgram   = "/usr/sbin/scutil"
)

// Limits of the time and output of one run. The output, in bytes, may be thousands of interfaces
// and resolvers.
const (
	limit     = 5 * time.Second
	maxOutput = 4 << 20
)

// A Family is a protocol family, as route(8) names it.
type Family string

// The families.
const (
	IPv4 Family = "-inet"
	IPv6 Family = "-inet6"
)

// Default returns the default route of a family. It fails with [ErrNoRoute] if there is none.
func Default(ctx context.Context, runner sysexec.Runner, f Family) (Route, error) {
	r, err := run(ctx, runner, routeProgram, "-n", "get", string(f), "default")
	if err != nil {
		return Route{}, err
	}
	if noRoute(r.Stderr) {
		return Route{}, ErrNoRoute
	}
	if r.Exit != 0 {
		return Route{}, failed(routeProgram, r)
	}
	return ParseRoute(r.Stdout)
}

// noRoute recognizes the messages of route(8) for a missing route: those for ESRCH, and ENETUNREACH
// for IPv6 if no interface has it.
func noRoute(said []byte) bool {
	text := string(said)
	return strings.Contains(text, "not in table") || strings.Contains(text, "route has not been found") || strings.Contains(text, "Network is unreachable")
}

// Resolvers lists the name servers of this machine.
func Resolvers(ctx context.Context, runner sysexec.Runner) ([]Resolver, error) {
	r, err := run(ctx, runner, scutilProgram, "--dns")
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, failed(scutilProgram, r)
	}
	return ParseResolvers(r.Stdout)
}

// Interfaces lists the network interfaces with their addresses.
func Interfaces(ctx context.Context, runner sysexec.Runner) ([]Interface, error) {
	r, err := run(ctx, runner, ifconfigProgram, "-a")
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, failed(ifconfigProgram, r)
	}
	return ParseInterfaces(r.Stdout)
}

func run(ctx context.Context, runner sysexec.Runner, program string, args ...string) (sysexec.Result, error) {
	return runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: limit, MaxOutput: maxOutput})
}

func failed(program string, r sysexec.Result) error {
	return fmt.Errorf("%s ended with status %d: %s", program, r.Exit, sanitize.Text(string(r.Stderr), 200))
}

// ErrNoRoute reports that there is no such route.
var ErrNoRoute = errors.New("there is no such route")

// A Route is an entry of the routing table.
type Route struct {
	// Gateway is the next hop; the zero address if the route goes directly through the interface,
	// such as a tunnel. An IPv6 address may have a zone.
	Gateway   netip.Addr
	Interface string
}

// ParseRoute parses the output of "route -n get".
func ParseRoute(printed []byte) (Route, error) {
	var r Route
	seen := false
	for line := range strings.Lines(string(printed)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		value = strings.TrimSpace(value)
		switch {
		case !ok:
		case key == "destination":
			seen = true
		case key == "interface":
			r.Interface = value
		case key == "gateway" && !strings.HasPrefix(value, "link#") && !isHardware(value):
			a, err := netip.ParseAddr(value)
			if err != nil {
				return Route{}, fmt.Errorf("route prints the gateway %q", sanitize.Text(value, 60))
			}
			r.Gateway = a
		}
	}
	if !seen || r.Interface == "" && !r.Gateway.IsValid() {
		return Route{}, errors.New("route printed no route")
	}
	return r, nil
}

// isHardware reports whether a gateway is an Ethernet address, which means a neighbor on the same
// link: six numbers without leading zeros.
func isHardware(text string) bool {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 6 || strings.Contains(text, "::") {
		return false
	}
	for _, p := range parts {
		if len(p) > 2 || strings.Trim(strings.ToLower(p), "0123456789abcdef") != "" {
			return false
		}
	}
	return true
}
