// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/config"
	"sentinel/internal/doctor"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/humanize"
	"sentinel/internal/journal"
	"sentinel/internal/ops"
	"sentinel/internal/recorder"
	"sentinel/internal/remote"
	"sentinel/internal/services"
	"sentinel/internal/trust"
	"sentinel/internal/version"
	"sentinel/internal/webhook/spool"
)

// A doctorDocument answers --doctor. It is a success whenever all checks ran,
// whatever they found: problems counts what is wrong, and the exit status is 0.
type doctorDocument struct {
	answer.Header
	doctor.Report
}

func runDoctor(ctx context.Context, s session, call invocation) (document, error) {
	report := doctor.Examine(ctx, s.doctorTarget(call))
	for i := range report.Checks {
		report.Checks[i].Fix = s.named(report.Checks[i].Fix)
	}
	return doctorDocument{answer.NewHeader(call.op.Action, true), report}, nil
}

func (s session) doctorTarget(call invocation) doctor.Target {
	path := cmp.Or(call.config, config.DefaultPath)
	c, err := config.Load(path, call.config != "")
	others := s.otherMachines(c.Hosts)
	return doctor.Target{
		Root: s.host.Root, OS: s.host.OS, Version: version.Number, User: s.user(), AsRoot: s.root,
		Binary: s.binary, Trusted: s.trusted, TrustedLog: trust.InLogs.File, Owned: trust.User(s.user().UID).File, Tools: rootTools(s.config.Policy.EnabledTools),
		ConfigPath: path, ConfigError: err, ConfigFiles: c.Files, AskRequired: c.Policy.Ask == config.AskRequired, StateDir: s.stateDir, JournalDir: journal.DefaultDir,
		Programs: s.host.Programs, OSVersion: s.osVersion,
		Journal: s.journalProbe, Blocklist: s.blocklistProbe, PacketFilter: s.packetFilterProbe,
		Firewall: s.firewallProbe, ServiceManager: s.serviceManagerProbe, UnitState: s.unitState, Restorable: s.restorable, Reports: s.reports, Recorder: s.lastRecorded, Others: others,
	}
}

// user is the person who uses sentinel: under sudo the one who called it, whose
// environment is not that of this run.
func (s session) user() doctor.User {
	if s.who.SudoUID != nil {
		return doctor.User{UID: *s.who.SudoUID, Name: s.who.SudoUser}
	}
	return doctor.User{UID: s.who.UID, Env: s.getenv, Groups: s.groups}
}

func (s session) binary() (string, error) {
	if s.own == nil {
		return ownBinary()
	}
	return s.own()
}

// ownBinary returns the path of this program as sentinel-mcp names it to sudo.
func ownBinary() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(own)
}

// rootTools lists the tools that do more as root and are not off until they are enabled.
func rootTools(enabled []string) []doctor.Tool {
	var tools []doctor.Tool
	for _, op := range ops.All() {
		if op.Privilege != ops.AnyUser && (!op.OptIn || slices.Contains(enabled, op.Name)) {
			tools = append(tools, doctor.Tool{Name: op.Name, Needs: op.Privilege == ops.NeedsRoot, Alias: string(op.Grant)})
		}
	}
	return tools
}

// journalProbe verifies the journal, which only root can read.
func (s session) journalProbe(ctx context.Context) (string, error) {
	if !s.root {
		return "", os.ErrPermission
	}
	r, err := s.journal.Verify(ctx, nil)
	switch {
	case err != nil:
		return "", err
	case r.ProblemsTotal > 0:
		return "", errors.New(counted(r.ProblemsTotal, "problem") + ", the first: " + r.Problems[0].Message)
	default:
		return counted(r.Records, "record") + " in an unbroken chain", nil
	}
}

// blocklistProbe reads the list and, as root, compares it with the packet filter.
func (s session) blocklistProbe(ctx context.Context) (string, error) {
	listing, err := s.blocklist().Read(ctx, 1, 1)
	switch {
	case err != nil && fault.From(err).Code == fault.PermissionDenied:
		return "", os.ErrPermission
	case err != nil:
		return "", err
	case listing.InSync != nil && !*listing.InSync:
		return "", fault.New(fault.FirewallFailed, "The packet filter does not drop what the list has.").WithFix("Run: sudo sentinel --restore-blocklist")
	default:
		return humanize.Count(listing.EntriesTotal, "address", "addresses") + " on the list", nil
	}
}

func (s session) packetFilterProbe(ctx context.Context) (string, error) {
	backend, err := s.host.Blocklist.Backend(ctx)
	if err != nil {
		return "", err
	}
	return backend.Name() + " can block addresses", nil
}

// firewallProbe finds whether a firewall is on, or which could be switched on.
func (s session) firewallProbe(ctx context.Context) (string, error) {
	status := firewall.Assess(s.host.Firewall.Firewall(ctx))
	switch status.State {
	case firewall.Active:
		return "It is on: " + status.Evidence + ".", nil
	case firewall.Unknown:
		return "", os.ErrPermission
	}
	manager, err := s.host.FirewallManager.Backend(ctx)
	if err != nil {
		return "", err
	}
	return "", fault.New(fault.FirewallUnavailable, "No firewall is on: "+status.Evidence+"; "+manager.Name()+" can be switched on.").
		WithFix("See what a firewall would close, then switch it on without --dry-run: sudo sentinel --fix-firewall --dry-run")
}

func (s session) osVersion(ctx context.Context) (string, error) {
	if s.host.Updates == nil {
		return "", errors.ErrUnsupported
	}
	return s.host.Updates.OSVersion(ctx)
}

func (s session) unitState(ctx context.Context, unit string) (string, error) {
	manager, err := s.host.Services.Open(ctx)
	if err != nil {
		return "", err
	}
	defer manager.Close()
	u, err := manager.Unit(ctx, unit)
	if u.Sub == services.NotLoaded || u.Sub == services.SwitchedOff {
		return u.Sub, err
	}
	return u.Active, err
}

func (s session) serviceManagerProbe(ctx context.Context) (string, error) {
	manager, err := s.host.Services.Open(ctx)
	if err != nil {
		return "", errors.New(fault.From(err).Message) // its fix is one for restarting
	}
	manager.Close()
	return "It answers.", nil
}

// otherMachines asks each host for the version of its sentinel.
func (s session) otherMachines(names []string) func(context.Context) ([]doctor.Other, error) {
	if len(names) == 0 {
		return nil
	}
	return func(ctx context.Context) ([]doctor.Other, error) {
		if s.who.SudoUID != nil {
			return nil, errors.New("behind sudo it would be with the ssh of root")
		}
		list := make([]doctor.Other, len(names))
		carrier, err := remote.New(s.host.Programs, s.environ, s.who.UID)
		var all sync.WaitGroup
		for i, name := range names {
			list[i] = doctor.Other{Host: name, Err: err}
			if err != nil {
				continue
			}
			all.Go(func() { list[i].Version, list[i].Err = carrier.Version(ctx, name) })
		}
		all.Wait()
		return list, nil
	}
}

// reports reads what became of the reports from the journal and the spool, both root's.
func (s session) reports(ctx context.Context) (doctor.Reporting, error) {
	r := doctor.Reporting{Endpoints: len(s.config.Webhook.Endpoints), Known: s.root}
	if s.config.OTLP.Endpoint != "" {
		r.Endpoints++
	}
	if r.Endpoints == 0 || !s.root {
		return r, nil
	}
	var err error
	if r.Waiting, r.Bytes, err = spool.Usage(filepath.Join(s.stateDir, spoolName)); err != nil {
		return r, err
	}
	h, err := s.journal.History(ctx, journal.MaxHistory, nil)
	for _, a := range h.Actions {
		if a.Tool != "report" {
			continue
		}
		if r.Last == nil {
			r.Last = &doctor.Sent{At: a.Time, State: a.State, Detail: a.Detail}
		}
		if a.State == journal.Done {
			r.Arrived = a.Time
			break
		}
	}
	return r, err
}

// lastRecorded tells when the recorder took its last sample, which root alone can read.
func (s session) lastRecorded(context.Context) (doctor.Recording, error) {
	if !s.config.Record.Enabled {
		return doctor.Recording{Off: true}, nil
	}
	last, err := recorder.ReadLast(s.recordings())
	if errors.Is(err, fs.ErrNotExist) {
		return doctor.Recording{}, nil
	}
	if err != nil {
		return doctor.Recording{}, err
	}
	return doctor.Recording{Last: time.Unix(last.Sample.Time, 0)}, nil
}
