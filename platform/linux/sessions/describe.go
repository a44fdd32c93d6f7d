// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/remotedesktop"
	"sentinel/internal/sessions"
	"sentinel/internal/sshserver"
	"sentinel/platform/linux/procfs"
)

// Describe implements [sessions.Source]. Whether the process goes on is asked last: what was read of one that has
// ended meanwhile may be that of another account.
func (r *reading) Describe(_ context.Context, pid int) (sessions.Description, error) {
	d, err := r.describe(pid)
	if p, end := r.proc.Process(pid); procfs.Ended(end) || end == nil && p.Zombie() {
		return sessions.Description{Ended: true}, nil
	}
	return d, err
}

func (r *reading) describe(pid int) (sessions.Description, error) {
	uid, err := r.proc.UID(pid)
	if err != nil {
		return sessions.Description{}, err
	}
	names, _ := r.names() //nolint:errcheck // a user without a name is shown as a number
	d := sessions.Description{UID: uid, System: procfs.SystemAccount(uid), User: names.Name(uid), Elsewhere: r.isElsewhere(pid)}
	if group, err := r.proc.ControlGroup(pid); err == nil {
		d.Unit, d.Login = unitOf(group)
	}
	if d.Login == "" {
		d.Login = r.auditSession(pid)
	}
	if p, err := r.proc.Process(pid); err == nil {
		r.describeProgram(&d, pid, p.Name)
	}
	return d, nil
}

// describeProgram adds what is read of programs of the system's accounts, and for some names alone.
func (r *reading) describeProgram(d *sessions.Description, pid int, name string) {
	if d.System && sshserver.Is(name) {
		if line, err := r.proc.CommandLine(pid); err == nil {
			d.CommandLine = strings.Fields(strings.Join(line, " "))
		}
	}
	d.Raised = !d.System && r.proc.ActsAsRoot(pid)
	if d.UID != 0 && !remotedesktop.Is(name) {
		d.Lent = d.System && r.proc.Lends(pid)
		return
	}
	p, err := r.proc.Program(pid, 0)
	if d.Lent = p.Lent; err == nil && p.System {
		d.Program = p.Name()
	}
	own, unknown := r.proc.Executable(r.self)
	d.OwnRun = unknown == nil && d.UID == 0 && !d.Elsewhere && p.Path == own
}

// unitOf finds in the path of a control group the unit of the system's manager, and the session if it
// is the scope of one (systemd.special(7), session-*.scope).
func unitOf(group string) (unit, login string) {
	parts := strings.Split(strings.Trim(group, "/"), "/")
	at := slices.IndexFunc(parts, func(p string) bool { return !strings.HasSuffix(p, ".slice") })
	if at < 0 || !strings.Contains(parts[at], ".") {
		return "", ""
	}
	unit = parts[at]
	if id, ok := strings.CutPrefix(unit, "session-"); ok {
		login, _ = strings.CutSuffix(id, ".scope")
	}
	return unit, login
}

// auditSession reads the session that pam_loginuid(8) has put a process in, by which the session
// manager names its own; empty for none.
func (r *reading) auditSession(pid int) string {
	id, ok := r.proc.AuditSession(pid)
	if !ok {
		return ""
	}
	return strconv.FormatUint(id, 10)
}
