// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/dnslookup"
	"sentinel/internal/fault"
	"sentinel/internal/health"
	"sentinel/internal/portscan"
	"sentinel/internal/traceroute"
	"sentinel/internal/updates"
)

// A page that does not know says why, and what would make it known.
func TestUnknownUpdatesSayWhyAndWhatToDo(t *testing.T) {
	const old = "the package lists are 60 d 0 h old"
	for name, c := range map[string]struct {
		manager, why string
		age          *int64
		want         string
	}{
		"old lists":           {"apt", old, new(int64(60 * 86400)), ": " + old + ".\nFetch the lists:\nsudo apt-get update\n"},
		"lists of no age":     {"dnf", "nothing tells", nil, ": nothing tells.\nFetch the lists:\nsudo dnf makecache\n"},
		"lists that lack one": {"apt", "none is one of a security archive", new(int64(60)), ": none is one of a security archive.\nLook at its sources:\nsentinel --security-audit\n"},
		"a Mac":               {"softwareupdate", old, nil, ": " + old + ".\nFetch the lists:\nsudo softwareupdate --list\n"},
	} {
		p := newPage(120, false)
		d := updatesDocument{Report: updates.Report{Manager: c.manager, UpdatesTotal: new(0), ListAgeSeconds: c.age, Unavailable: answer.Gaps{{Field: "info.updates_available", Reason: c.why}}}}
		d.view(p)
		if got := string(p.bytes()); !strings.HasPrefix(got, "UNKNOWN: "+c.manager+" knows of no update, and that says little"+c.want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

// What was refused has not failed: nothing was tried.
func TestOnlyWhatWasTriedHasFailed(t *testing.T) {
	for code, want := range map[fault.Code]string{
		fault.Usage: "INVALID", fault.InvalidPID: "INVALID", fault.PermissionDenied: "DENIED", fault.ProtectedProcess: "REFUSED",
		fault.DisabledByPolicy: "REFUSED", fault.RateLimited: "REFUSED", fault.AlreadyBlocked: "UNCHANGED", fault.NotBlocked: "UNCHANGED",
		fault.WebhookQueued: "QUEUED", fault.Cancelled: "CANCELLED", fault.RestartFailed: "FAILED", fault.Timeout: "FAILED",
	} {
		var b bytes.Buffer
		o := output{stdout: &b, form: textForm, screen: screen{width: 80, height: 24}, giveUp: func() <-chan struct{} { return nil }}
		if status := o.fail("x", fault.New(code, "It is so.")); status != code.Exit() || !strings.HasPrefix(b.String(), want+": It is so.\n") {
			t.Errorf("%s: status %d, %q", code, status, b.String())
		}
	}
}

// one of several is a mistake that everybody sees.
var wrongPlural = regexp.MustCompile(`(?:^|[ (])1 [a-z]+s\b`)

func TestOneIsNoPlural(t *testing.T) {
	lookup := lookupDocument{Lookup: dnslookup.Lookup{Name: "example.net", RecordsTotal: 1}}
	route := routeDocument{Route: traceroute.Route{Reached: true, Address: "192.0.2.1", HopsTotal: 1}}
	scan := scanDocument{Report: portscan.Report{Address: "192.0.2.1", PortsTotal: 1, Complete: true}}
	waiting := updatesOf(new(1), new(1), nil, false)
	d := troubled(1)
	d.FlowsTotal, d.ListeningTotal = 1, 1
	d.CPU = &health.CPU{Percent: new(1.0), Cores: 1}
	for name, test := range map[string]struct {
		doc  document
		want string
	}{
		"dns":     {lookup, "DNS: example.net has 1 record, says"},
		"route":   {route, "REACHED: 192.0.2.1 answers, 1 hop away."},
		"scan":    {scan, "PORTS: 1 port of 192.0.2.1: 0 open, 0 closed, 0 filtered."},
		"updates": {waiting, "SECURITY: 1 update waits, 1 of them for security."},
		"health":  {d, "1 connection, 1 listening socket"},
		"audit":   {audited(1), "FAIL: Score 60"},
	} {
		p := newPage(120, false)
		test.doc.view(p)
		if got := string(p.bytes()); !strings.Contains(got, test.want) || wrongPlural.MatchString(got) {
			t.Errorf("%s: %q\n%s", name, wrongPlural.FindString(got), got)
		}
	}
}

func TestGapsWithOneReasonStandTogetherAndWhole(t *testing.T) {
	p := newPage(80, false)
	long := strings.Repeat("because ", 20) + "END"
	p.gaps(answer.Gaps{{Field: "a", Reason: "none"}, {Field: "b", Reason: long}, {Field: "c", Reason: "none"}})
	if got := string(p.bytes()); !strings.Contains(got, "\nNot known here:\n  a, c: none\n  b: because") || !strings.Contains(got, "END\n") {
		t.Errorf("%s", got)
	}
}
