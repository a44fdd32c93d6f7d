// SPDX-License-Identifier: Apache-2.0

// Package firewall reads the state of macOS's Application Firewall, and turns it on without locking
// out remote sessions. Its rules are about programs, not ports, so for every port the question is
// which program accepts its connections.
package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/pfctl"
	"sentinel/platform/darwin/socketfilterfw"
)

// besideLimit bounds the query of pf, which is only additional information.
const besideLimit = 3 * time.Second

// A Manager is the firewall of a Mac. It is safe for concurrent use.
type Manager struct {
	tool    socketfilterfw.Tool
	pf      pfctl.Tool
	sockets func(ctx context.Context) ([]lsof.Socket, error)
}

var (
	_ firewall.Source  = (*Manager)(nil)
	_ firewall.Manager = (*Manager)(nil)
)

// New returns the Manager of the Mac that runner runs programs on. It runs nothing.
func New(runner sysexec.Runner) *Manager {
	return &Manager{
		tool: socketfilterfw.New(runner), pf: pfctl.New(runner),
		sockets: func(ctx context.Context) ([]lsof.Socket, error) { return lsof.Sockets(ctx, runner) },
	}
}

// Firewall implements [firewall.Source]. The Application Firewall decides; pf is reported as
// additional information.
func (m *Manager) Firewall(ctx context.Context) firewall.Facts {
	s, err := m.tool.State(ctx)
	a := firewall.Application{
		On: s.On(), BlocksAll: s.BlocksAll(), AllowSigned: s.AllowSigned, AllowSignedApp: s.AllowSignedApp, Unreadable: explain(err), Exempt: exempt,
	}
	ctx, cancel := context.WithTimeout(ctx, besideLimit)
	defer cancel()
	on, err := m.pf.Enabled(ctx)
	a.Beside, a.Passes, a.PassesErr = beside(on, err), !on, err
	if on && err == nil && !a.On {
		a.Passes, a.PassesErr = m.passes(ctx)
	}
	return firewall.Facts{Application: &a}
}

// exempt are the programs that are let in even when all incoming connections are blocked, for DHCP,
// Bonjour and IPsec, and launchd, which listens for others.
var exempt = []string{"configd", "mDNSResponder", "racoon", "launchd"}

// maxAnchors bounds how many anchors of pf are looked into.
const maxAnchors = 50

// passes reports whether none of pf's rules blocks what comes in, apart from addresses that a table
// holds.
func (m *Manager) passes(ctx context.Context) (bool, error) {
	anchors, err := m.pf.Anchors(ctx, "")
	if err != nil {
		return false, err
	}
	if len(anchors) > maxAnchors {
		return false, fmt.Errorf("not all read: there are more than %d anchors", maxAnchors)
	}
	for _, anchor := range append([]string{""}, anchors...) {
		rules, err := m.pf.Rules(ctx, anchor)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(rules, blocksIncoming) {
			return false, nil
		}
	}
	return true, nil
}

func blocksIncoming(rule string) bool {
	return strings.HasPrefix(rule, "block ") && !strings.Contains(rule, " out ") && !strings.Contains(rule, " from <")
}

// beside describes the state of pf.
func beside(on bool, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "pf is " + answer.Reason(err)
	case err != nil:
		return "pf could not be read"
	case on:
		return "pf is enabled"
	default:
		return "pf is disabled"
	}
}

// explain adds the fix to a known error.
func explain(err error) error {
	switch {
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, fs.ErrPermission):
		return err
	case errors.Is(err, socketfilterfw.ErrManaged):
		return managed()
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.FirewallUnavailable, "There is no "+socketfilterfw.Program).
			WithFix("This is part of macOS. Look at the firewall in System Settings, Network, Firewall.")
	default:
		return fault.Wrap(fault.Unavailable, "The Application Firewall does not tell", err).
			WithFix("Look at the firewall in System Settings, Network, Firewall.")
	}
}

// managed returns the refusal for a Mac whose firewall a profile controls.
func managed() error {
	return fault.New(fault.FirewallFailed, "A configuration profile (com.apple.security.firewall) manages the firewall of this Mac, and it can only be changed there").
		WithFix("Change the profile with the device management (MDM) that has installed it. System Settings, General, Device Management shows it, and so does: sudo profiles show -type configuration")
}

// Backend implements [firewall.Manager]. Every Mac has this one.
func (m *Manager) Backend(context.Context) (firewall.Backend, error) {
	return &application{m: m}, nil
}
