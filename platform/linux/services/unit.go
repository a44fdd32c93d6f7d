// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/platform/linux/systemd"
)

// properties are those of one unit (org.freedesktop.systemd1(5)). A property that this version of
// systemd lacks has the zero value.
type properties map[string]any

// Unit implements [services.Manager]. systemd loads a unit when its properties are read, which
// changes nothing. The properties of the service are requested at the same time, because most of a
// call is its round trip.
func (m *manager) Unit(ctx context.Context, name string) (services.Unit, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var own properties
	var failed error
	var calls sync.WaitGroup
	if strings.HasSuffix(name, suffix) {
		calls.Go(func() { own, failed = m.conn.GetUnitTypePropertiesContext(ctx, name, "Service") })
	}
	p, err := m.conn.GetUnitPropertiesContext(ctx, name)
	calls.Wait()
	if err != nil {
		return services.Unit{}, known(err)
	}
	u := common(p)
	if files := (startFiles{m.root}); u.Stale != "" && files.removed(ctx, u.File) {
		u.Stale = " Its unit file was removed since systemd read it, and what it said counts until: systemctl daemon-reload"
	}
	if u.Job, err = m.job(ctx, p); err != nil {
		return services.Unit{}, known(err)
	}
	if !u.Service { // an alias of another kind of unit
		return u, nil
	}
	if failed != nil {
		return services.Unit{}, known(failed)
	}
	service(own, &u)
	if startLimited(p, u.Started) {
		u.BackAfterKill, u.BackAfterTerm = false, false
	}
	u.Hosted, u.HostedUnits = m.hosted(u)
	return u, nil
}

// job returns the type of the job that is queued for a unit, "" for none. Its
// number is a property of the unit; its type is one of the job's own.
func (m *manager) job(ctx context.Context, p properties) (string, error) {
	queued := value[[]any](p, "Job")
	if len(queued) == 0 || queued[0] == uint32(0) {
		return "", nil
	}
	jobs, err := m.conn.ListJobsContext(ctx)
	for _, j := range jobs {
		if j.Id == queued[0] {
			return j.JobType, nil
		}
	}
	return "", err
}

// common takes the properties that units of every kind have.
func common(p properties) services.Unit {
	name := value[string](p, "Id")
	u := services.Unit{
		Name: name, Names: value[[]string](p, "Names"), Active: value[string](p, "ActiveState"),
		Sub:     value[string](p, "SubState"),
		Service: strings.HasSuffix(name, suffix), Trigger: slices.Contains([]string{".socket", ".timer", ".path"}, path.Ext(name)),
		Unmet:     p["ConditionResult"] == false && value[uint64](p, "ConditionTimestampMonotonic") > 0,
		Starts:    lists(p, "Requires", "Wants", "BindsTo", "Upholds", "OnSuccess"),
		OnFailure: lists(p, "OnFailure"), OnSuccess: lists(p, "OnSuccess"),
		Stops:   lists(p, "Conflicts", "ConflictedBy"),
		Carries: lists(p, "RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf"),
		// A unit that ends by itself takes these with it, also where it is started again
		// (retroactively_stop_dependencies of src/core/unit.c); those that require it stay.
		BoundTo:    lists(p, "BoundBy", "PropagatesStopTo"),
		Holds:      lists(p, "Requires", "Requisite", "Wants", "BindsTo", "Upholds"),
		Actions:    append(actions(p), isolations(p)...),
		Invocation: string(value[[]byte](p, "InvocationID")),
		Unusable:   unusable(p), Dormant: dormant(p),
		Description: value[string](p, "Description"), Since: since(p), Enabled: value[string](p, "UnitFileState"),
		File: value[string](p, "FragmentPath"), Needs: lists(p, "Requires", "Requisite", "BindsTo"), Wishes: lists(p, "Wants"),
		RestartedBy: startedBy(p),
		LogHint:     "More of them: journalctl --unit=" + name,
	}
	u.Fileless = p["LoadState"] == "not-found" && u.Active != "inactive"
	u.Missing = p["LoadState"] == "not-found" && !u.Fileless
	if value[bool](p, "StopWhenUnneeded") {
		u.HeldBy = lists(p, "RequiredBy", "RequisiteOf", "WantedBy", "BoundBy", "UpheldBy")
	}
	if value[bool](p, "NeedDaemonReload") {
		u.Stale = " Its unit file has changed since systemd read it, and the old one counts until: systemctl daemon-reload"
	}
	return u
}

// since is when a unit came into its state: a reload, or another change of what it does in that state, is none.
func since(p properties) time.Time {
	switch value[string](p, "ActiveState") {
	case "active":
		return moment(p, "ActiveEnterTimestamp")
	case "inactive", "failed":
		return moment(p, "InactiveEnterTimestamp")
	}
	return moment(p, "StateChangeTimestamp")
}

// unusable explains why systemd cannot start a unit, or refuses to do so on request.
func unusable(p properties) error {
	name, load := value[string](p, "Id"), value[string](p, "LoadState")
	switch {
	case load == "masked":
		return fault.New(fault.ServiceMasked, name+" is masked: its administrator has made starting it impossible.").
			WithFix("If it is meant to run, unmask it first with: systemctl unmask " + name)
	case value[bool](p, "RefuseManualStart") || value[bool](p, "RefuseManualStop"): // CanStart is false for it, too
		return services.Refusal(name, "its unit file does not let it be started or stopped by hand", false)
	case load == "not-found":
		return fault.New(fault.RestartFailed, name+" has no unit file any more, so that it cannot be started again; nothing was changed.").
			WithFix("Bring its unit file back, and have systemd read it with: systemctl daemon-reload")
	case load != "loaded" || p["CanStart"] == false:
		return fault.New(fault.RestartFailed, "The unit file of "+name+" cannot be used ("+shown(load)+"); nothing was changed.").
			WithFix("Find what is wrong with: systemd-analyze verify " + name)
	}
	return nil
}

// dormant returns an error for a unit that is not intended to run: its administrator has not
// enabled it.
func dormant(p properties) error {
	if enabled(p) {
		return nil
	}
	name := value[string](p, "Id")
	e := fault.New(fault.ServiceInactive, fmt.Sprintf("%s is not running (%s) and not enabled (%s); restarting it would start a service that is switched off.",
		name, shown(value[string](p, "ActiveState")), shown(value[string](p, "UnitFileState"))))
	if by := value[[]string](p, "TriggeredBy"); len(by) > 0 {
		return e.WithFix("It is started when it is needed by " + shown(strings.Join(by, ", ")) + "; to start it now: systemctl start " + name)
	}
	return e.WithFix("Start it by hand if it is wanted: systemctl start " + name)
}

// enabled reads the state of a unit file (systemctl(1), is-enabled). A generated unit, such as one
// from a script in /etc/init.d, is enabled if the boot wants it; static, indirect, linked and
// transient units are not enabled.
func enabled(p properties) bool {
	switch value[string](p, "UnitFileState") {
	case "enabled", "enabled-runtime":
		return true
	case "generated":
		by := lists(p, "WantedBy", "RequiredBy")
		return slices.Contains(by, "multi-user.target") || slices.Contains(by, "graphical.target")
	}
	return false
}

// service adds the properties that only services have.
func service(p properties, u *services.Unit) {
	u.Type, u.Result, u.Group = value[string](p, "Type"), value[string](p, "Result"), value[string](p, "ControlGroup")
	u.User = value[string](p, "User")
	u.Restarts, u.MainPID, u.ControlPID = int(value[uint32](p, "NRestarts")), int(value[uint32](p, "MainPID")), int(value[uint32](p, "ControlPID"))
	u.ExitCode, u.ExitStatus = int(value[int32](p, "ExecMainCode")), int(value[int32](p, "ExecMainStatus"))
	u.Started, u.Ended = moment(p, "ExecMainStartTimestamp"), moment(p, "ExecMainExitTimestamp")
	if policy := restartPolicy(p); policy != "" {
		u.ComesBack, u.MayRestart = comesBack(p), true
		u.RestartedBy = append([]string{policy}, u.RestartedBy...)
	}
	then := systemd.Predict(value[string](p, "Restart"), value[[]any](p, "RestartPreventExitStatus"), value[[]any](p, "SuccessExitStatus"))
	u.BackAfterKill, u.BackAfterTerm = then.OnKill == processes.ComesBack, then.OnTerm == processes.ComesBack
	u.StaysExited = value[bool](p, "RemainAfterExit")
	kill := value[string](p, "KillMode")
	u.SparesOthers = kill == "process" || kill == "none"
	u.Actions = append(u.Actions, actions(p)...)
	for _, name := range []string{"ExecStop", "ExecStopPost"} {
		u.LastCommands = append(u.LastCommands, commands(p[name])...)
	}
	for _, name := range []string{"ExecStartPre", "ExecStart", "ExecStartPost"} {
		u.Commands = append(u.Commands, commands(p[name])...)
	}
	u.Commands = append(u.Commands, u.LastCommands...)
}

// startLimited reports whether one more start may be one too many (StartLimitBurst= of systemd.unit(5)). How many there
// were, those by hand among them, is not told; when the last one was is, or at the latest can have been.
func startLimited(p properties, last time.Time) bool {
	interval := value[uint64](p, "StartLimitIntervalUSec")
	return value[uint32](p, "StartLimitBurst") > 0 && uint64(max(time.Since(last).Microseconds(), 0)) < interval
}

// actions returns the actions that systemd takes on the system when a unit ends. Before version 236
// they belonged to services.
func actions(p properties) []string {
	var found []string
	for _, name := range []string{"SuccessAction", "FailureAction", "StartLimitAction", "JobTimeoutAction"} {
		if action := value[string](p, name); action != "" {
			found = append(found, action)
		}
	}
	return found
}

// isolations are actions as well: the failure of a unit, or its end with success, may stop all but what it starts then
// (OnFailureJobMode= of systemd.unit(5)).
func isolations(p properties) []string {
	var found []string
	for _, when := range []string{"OnFailure", "OnSuccess"} {
		if units := lists(p, when); len(units) > 0 && value[string](p, when+"JobMode") == "isolate" {
			found = append(found, "stop all but "+units[0]+" on")
		}
	}
	return found
}

// commands reads an array of commands, each of which begins with the path of
// the program and its arguments.
func commands(list any) [][]string {
	var found [][]string
	// A unit without the property has no commands.
	entries, _ := list.([][]any)
	for _, entry := range entries {
		if len(entry) < 2 {
			continue
		}
		program, ok := entry[0].(string)
		arguments, alike := entry[1].([]string)
		if ok && alike {
			found = append(found, append([]string{program}, arguments[min(1, len(arguments)):]...))
		}
	}
	return found
}

// lists joins lists of units, without duplicates.
func lists(p properties, names ...string) []string {
	var all []string
	for _, name := range names {
		for _, unit := range value[[]string](p, name) {
			if !slices.Contains(all, unit) {
				all = append(all, unit)
			}
		}
	}
	return all
}

// value returns a property, or the zero value if it is absent.
func value[T any](p properties, name string) T {
	v, _ := p[name].(T)
	return v
}

// errorName returns the name of an error that came over D-Bus. The library
// returns it by value or by reference.
func errorName(err error) (string, bool) {
	if e, ok := errors.AsType[dbus.Error](err); ok {
		return e.Name, true
	}
	if e, ok := errors.AsType[*dbus.Error](err); ok {
		return e.Name, true
	}
	return "", false
}
