// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sentinel/internal/services"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/systemd"
)

// maxOff bounds how many services that are off and enabled are looked at.
const maxOff = 128

// exits are the exit statuses that systemd gives a process of a service which it could not start
// (systemd.exec(5), process exit codes).
var exits = map[int]string{
	200: "its working directory is missing or not allowed (CHDIR)", 201: "its priority could not be set (NICE)", 202: "its file descriptors could not be set (FDS)",
	203: "its program is missing or cannot be executed (EXEC)", 204: "there was not enough memory for it (MEMORY)", 205: "a limit of its unit could not be set (LIMITS)",
	206: "its OOM score could not be set (OOM_ADJUST)", 207: "its signals could not be set (SIGNAL_MASK)", 208: "its standard input could not be opened (STDIN)",
	209: "the file for its standard output could not be opened (STDOUT)", 210: "its root directory could not be entered (CHROOT)", 214: "its scheduling could not be set (SETSCHEDULER)",
	216: "its group is unknown or could not be set (GROUP)", 217: "its user is unknown or could not be set (USER)", 218: "its capabilities could not be set (CAPABILITIES)",
	219: "its control group could not be set up (CGROUP)", 222: "the file for its standard error could not be opened (STDERR)", 224: "PAM refused its session (PAM)",
	225: "its network namespace could not be made (NETWORK)", 226: "a path that its sandbox names is missing or cannot be mounted (NAMESPACE)",
	228: "its filter of system calls could not be loaded (SECCOMP)", 231: "its AppArmor profile could not be set (APPARMOR_PROFILE)", 233: "its runtime directory could not be made (RUNTIME_DIRECTORY)",
	235: "the owner of its files could not be changed (CHOWN)", 238: "its state directory could not be made (STATE_DIRECTORY)", 239: "its cache directory could not be made (CACHE_DIRECTORY)",
	240: "its log directory could not be made (LOGS_DIRECTORY)", 241: "its configuration directory could not be made (CONFIGURATION_DIRECTORY)", 243: "its credentials could not be read (CREDENTIALS)",
}

// moment reads a time in microseconds since the epoch; zero where there is none.
func moment(p properties, name string) time.Time {
	if micros := value[uint64](p, name); micros > 0 && micros < math.MaxInt64 {
		return time.UnixMicro(int64(micros))
	}
	return time.Time{}
}

// comesBack says that systemd starts a service again after a failure (systemd.service(5), Restart=).
func comesBack(p properties) bool {
	return !slices.Contains([]string{"", "no", "on-success"}, value[string](p, "Restart"))
}

// restartPolicy says when systemd starts a service again by itself; "" for never.
func restartPolicy(p properties) string {
	when := map[string]string{
		"always": "whenever it ends", "on-success": "after it has ended with success", "on-failure": "after a failure", "on-abnormal": "after a signal, a timeout or its watchdog",
		"on-abort": "after a signal", "on-watchdog": "after its watchdog has run out",
	}[value[string](p, "Restart")]
	if when == "" {
		return ""
	}
	delay := time.Duration(value[uint64](p, "RestartUSec")) * time.Microsecond
	return fmt.Sprintf("systemd starts it again %s, %s later", when, delay)
}

// startedBy says what starts a unit besides: other units and the boot.
func startedBy(p properties) []string {
	var list []string
	if by := value[[]string](p, "TriggeredBy"); len(by) > 0 {
		list = append(list, "it is started when it is needed by "+strings.Join(by[:min(len(by), 5)], ", "))
	}
	if by := lists(p, "WantedBy", "RequiredBy"); len(by) > 0 {
		list = append(list, "it is started with "+strings.Join(by[:min(len(by), 5)], ", "))
	}
	return list
}

// Suspects implements [services.Inspector].
func (m *manager) Suspects(ctx context.Context) ([][]string, int, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	loaded, err := m.conn.ListUnitsContext(ctx)
	if err != nil {
		return nil, 0, known(err)
	}
	on := map[string]bool{}
	var failed, names []string
	for _, u := range loaded {
		on[u.Name] = u.ActiveState == "active" || u.ActiveState == "activating" || u.ActiveState == "reloading"
		switch {
		case !strings.HasSuffix(u.Name, suffix):
		case u.ActiveState == "failed":
			failed = append(failed, u.Name)
		case strings.HasPrefix(u.SubState, "auto-restart"):
			names = append(names, u.Name)
		}
	}
	restarting, unasked, err := systemd.Restarting(ctx, m.conn)
	if err != nil {
		return nil, 0, known(err)
	}
	for _, u := range restarting {
		names = append(names, u.Name)
	}
	off, unseen, err := m.wantedAndOff(ctx, on)
	if err != nil {
		return nil, 0, known(err)
	}
	slices.Sort(off)
	return systemd.Fold(unique(slices.Concat(failed, names, off))), unseen + unasked, nil
}

// wantedAndOff lists services that are enabled and off though the unit that wants them is on. Those
// that are started when they are needed are left out. Unseen is how many are off and were not asked for more.
func (m *manager) wantedAndOff(ctx context.Context, on map[string]bool) (names []string, unseen int, err error) {
	files, err := m.conn.ListUnitFilesByPatternsContext(ctx, []string{"enabled", "enabled-runtime"}, []string{"*" + suffix})
	if err != nil {
		return nil, 0, err
	}
	asked := 0
	for _, f := range files {
		name := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
		if on[name] || strings.HasSuffix(name, "@"+suffix) {
			continue
		}
		if asked++; asked > maxOff {
			unseen++
			continue
		}
		p, err := m.conn.GetUnitPropertiesContext(ctx, name)
		if err != nil || p["LoadState"] != "loaded" || p["ActiveState"] != "inactive" || len(value[[]string](p, "TriggeredBy")) > 0 || p["ConditionResult"] == false && value[uint64](p, "ConditionTimestampMonotonic") > 0 {
			continue
		}
		if slices.ContainsFunc(lists(p, "WantedBy", "RequiredBy"), func(by string) bool { return on[by] }) {
			names = append(names, name)
		}
	}
	return names, unseen, nil
}

// unique removes what is there already.
func unique(names []string) []string {
	list, seen := []string{}, map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			list = append(list, name)
		}
		seen[name] = true
	}
	return list
}

// Use implements [services.Inspector].
func (m *manager) Use(_ context.Context, u services.Unit) (services.Use, error) {
	if u.Group == "" {
		return services.Use{}, nil
	}
	used, err := cgroup.Use(m.root, u.Group)
	return services.Use{
		PIDs: used.PIDs, Memory: used.Memory, MemoryLimit: used.MemoryLimit, CPU: used.CPU, CPULimit: used.CPULimit,
		Throttled: used.Throttled, Tasks: used.Tasks, TasksLimit: used.TasksLimit,
	}, err
}

// FirstRestart implements [services.Inspector].
func (m *manager) FirstRestart(ctx context.Context, name string) (time.Time, error) {
	return systemd.FirstRestart(ctx, m.runner, name)
}
