// SPDX-License-Identifier: Apache-2.0

// Package nmapscan scans with nmap if the configuration asks for it. The nmap
// library builds the arguments and parses the output; the program itself is run
// like every other: by its absolute path, with a fixed environment and a deadline.
package nmapscan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/Ullaakut/nmap/v3"

	"sentinel/internal/fault"
	"sentinel/internal/portscan"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/internal/trust"
)

// paths are where nmap is looked for. The PATH is not used: the caller may have
// set it, and root may run this.
var paths = []string{"/usr/bin/nmap", "/usr/local/bin/nmap", "/opt/homebrew/bin/nmap"}

// An Engine scans with nmap.
type Engine struct {
	runner sysexec.Runner
	places []string
}

var _ portscan.Engine = Engine{}

// New returns an Engine that runs nmap with runner.
func New(runner sysexec.Runner) Engine { return Engine{runner, paths} }

// Name implements [portscan.Engine].
func (Engine) Name() string { return "nmap" }

// Scan implements [portscan.Engine]. nmap prints nothing before it has finished,
// so a scan that ran out of time has no result at all. Without nmap the error is
// UNAVAILABLE.
func (e Engine) Scan(ctx context.Context, job portscan.Job) (portscan.Result, error) {
	path, err := e.locate()
	if err != nil {
		return portscan.Result{}, err
	}
	args, err := arguments(ctx, path, job)
	if err != nil {
		return portscan.Result{}, err
	}
	r, err := e.runner.Run(ctx, sysexec.Command{Path: path, Args: args})
	if err != nil {
		return portscan.Result{}, fmt.Errorf("run nmap: %w", err)
	}
	if r.Exit != 0 {
		return portscan.Result{}, fmt.Errorf("nmap ended with status %d: %s", r.Exit, sanitize.Text(string(r.Stderr), 200))
	}
	return parse(r.Stdout)
}

// locate skips a program that anybody except root and the current user could
// change: Homebrew's belongs to a user, and root must not run it.
func (e Engine) locate() (string, error) {
	var distrust error
	for _, path := range e.places {
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			if distrust = trust.RootOrSelf.File(path); distrust == nil {
				return path, nil
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("look for nmap: %w", err)
		}
	}
	if distrust != nil {
		return "", fault.Wrap(fault.Unavailable, "nmap is installed where somebody else could change it", distrust).
			WithFix("Scan as the user to whom that nmap belongs, or set scan.engine to connect in /etc/sentinel/config.yaml.")
	}
	return "", &fault.Error{
		Code: fault.Unavailable, Err: nmap.ErrNmapNotInstalled,
		Message: "The configuration asks for nmap, and nmap is not installed.",
		Fix:     "Install nmap, or set scan.engine to connect in /etc/sentinel/config.yaml.",
	}
}

// startupTime is left for starting nmap and reading its answer.
const startupTime = 2 * time.Second

// arguments asks for a connect scan, which is the same with and without root, with
// neither host discovery nor name resolution. The target is an address, which cannot be an
// option.
func arguments(ctx context.Context, path string, job portscan.Job) ([]string, error) {
	options := []nmap.Option{
		nmap.WithBinaryPath(path), nmap.WithConnectScan(), nmap.WithTimingTemplate(nmap.TimingAggressive),
		nmap.WithDisabledDNSResolution(), nmap.WithSkipHostDiscovery(), nmap.WithPorts(portscan.SetOf(job.Ports).String()),
	}
	if job.Address.Is6() {
		options = append(options, nmap.WithIPv6Scanning())
	}
	if end, ok := ctx.Deadline(); ok {
		options = append(options, nmap.WithHostTimeout(max(time.Second, time.Until(end)-startupTime)))
	}
	options = append(options, nmap.WithTargets(job.Address.String()))
	scanner, err := nmap.NewScanner(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("make the arguments of nmap: %w", err)
	}
	return append(slices.Clip(scanner.Args()), "-oX", "-"), nil
}

// parse reads what nmap printed. A host that it gave up on has no result.
func parse(xml []byte) (portscan.Result, error) {
	run := &nmap.Run{}
	if err := nmap.Parse(xml, run); err != nil {
		return portscan.Result{}, fmt.Errorf("parse what nmap printed: %w", err)
	}
	if len(run.Hosts) != 1 {
		return portscan.Result{}, fmt.Errorf("nmap reported %d hosts", len(run.Hosts))
	}
	host := run.Hosts[0]
	if host.TimedOut {
		return portscan.Result{}, context.DeadlineExceeded
	}
	r := portscan.Result{Open: []uint16{}}
	for _, p := range host.Ports {
		count(&r, p.State.State, p.ID, 1)
		r.Silent += silent(p.State.Reason, 1)
	}
	for _, extra := range host.ExtraPorts {
		count(&r, extra.State, 0, extra.Count)
		for _, reason := range extra.Reasons {
			r.Silent += silent(reason.Reason, max(0, reason.Count))
		}
	}
	r.Silent = min(r.Silent, r.Filtered)
	slices.Sort(r.Open)
	r.Open = slices.Compact(r.Open)
	return r, nil
}

// silent returns n when nobody answered in place of a port, or that the host cannot be reached (the
// reasons of nmap's portreasons.cc).
func silent(reason string, n int) int {
	if slices.Contains([]string{"no-response", "no-responses", "host-unreach", "host-unreaches", "net-unreach", "net-unreaches"}, reason) {
		return n
	}
	return 0
}

func count(r *portscan.Result, state string, port uint16, n int) {
	switch {
	case state == string(nmap.Open) && port != 0:
		r.Open = append(r.Open, port)
	case state == string(nmap.Closed):
		r.Closed += max(0, n)
	case state == string(nmap.Filtered) || state == "open|filtered":
		r.Filtered += max(0, n)
	}
}
