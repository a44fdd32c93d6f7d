// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
)

// obstacleLimit bounds the look at files, which may be on a disk that does not answer.
const obstacleLimit = 3 * time.Second

// Obstacles implements [services.Manager]. systemd tells how conditions were when it looked last, so the files are
// looked at here; what it checks besides (systemd.unit(5), systemd.exec(5)) is left to it.
func (m *manager) Obstacles(ctx context.Context, u services.Unit) ([]services.Obstacle, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	unit, err := m.conn.GetUnitPropertiesContext(ctx, u.Name)
	if err != nil {
		return nil, known(err)
	}
	own, err := m.conn.GetUnitTypePropertiesContext(ctx, u.Name, "Service")
	if err != nil {
		return nil, known(err)
	}
	list, err := deadline.Call(ctx, obstacleLimit, func(ctx context.Context) ([]services.Obstacle, error) {
		files := startFiles{m.root}
		found := append(files.conditions(unit, !stopRuns(own)), files.environment(own)...)
		return append(append(found, m.noAccounts(ctx, own)...), files.programs(own)...), nil
	})
	if !m.seesAsSystemd() {
		for i := range list {
			list[i].Sure = false
		}
	}
	return list, err
}

// seesAsSystemd reports whether this process has the mounts of process 1, and not those of a sandbox.
func (m *manager) seesAsSystemd() bool {
	own, err := os.Readlink("/proc/self/ns/mnt")
	of, ofErr := m.procfs.Link(1, "ns/mnt")
	return err == nil && ofErr == nil && own == of
}

// startFiles are those that a start needs, below a root.
type startFiles struct{ root string }

func (f startFiles) path(name string) string { return filepath.Join(f.root, name) }

// missing reports that a file is surely not there.
func (f startFiles) missing(name string) bool {
	_, err := hostfile.Stat(f.path(name))
	return hostfile.Missing(err)
}

// removed reports in bounded time that a file is surely not there.
func (f startFiles) removed(ctx context.Context, name string) bool {
	gone, err := deadline.Call(ctx, obstacleLimit, func(context.Context) (bool, error) { return f.missing(name), nil })
	return err == nil && gone
}

// fileConditions are those of one file that are looked at (src/shared/condition.c of systemd), without
// "Condition" and "Assert".
var fileConditions = map[string]func(hostfile.Meta) bool{
	"PathExists":         func(hostfile.Meta) bool { return true },
	"PathIsDirectory":    func(m hostfile.Meta) bool { return m.Mode.IsDir() },
	"PathIsSymbolicLink": func(m hostfile.Meta) bool { return m.Mode&fs.ModeSymlink != 0 },
	"FileNotEmpty":       func(m hostfile.Meta) bool { return m.Mode.IsRegular() && m.Size > 0 },
	"FileIsExecutable":   func(m hostfile.Meta) bool { return canRun(m) },
}

func canRun(m hostfile.Meta) bool { return m.Mode.IsRegular() && m.Mode.Perm()&0o111 != 0 }

// conditions are those that are not met. All must be, and one of those with "|". What must not be there may be the
// service's own, and go with it; sure is of what must be there.
func (f startFiles) conditions(p properties, sure bool) (list []services.Obstacle) {
	for _, property := range []string{"Conditions", "Asserts"} {
		var either []string
		open := false
		for _, c := range value[[][]any](p, property) {
			kind, trigger, negate, name, ok := condition(c)
			fails := ok && f.fails(kind, name, negate)
			text := kind + "=" + map[bool]string{true: "!"}[negate] + shown(name)
			switch {
			case trigger && fails:
				either = append(either, text)
			case trigger:
				open = true
			case fails:
				list = append(list, services.Obstacle{Why: text + " is not met", Sure: sure && !negate})
			}
		}
		if len(either) > 0 && !open {
			list = append(list, services.Obstacle{Why: "none of " + strings.Join(either, ", ") + " is met"})
		}
	}
	return list
}

// condition reads an element of Conditions or Asserts (org.freedesktop.systemd1(5)).
func condition(c []any) (kind string, trigger, negate bool, name string, ok bool) {
	if len(c) < 4 {
		return "", false, false, "", false
	}
	kind, ok = c[0].(string)
	trigger, okTrigger := c[1].(bool)
	negate, okNegate := c[2].(bool)
	name, okName := c[3].(string)
	return kind, trigger, negate, name, ok && okTrigger && okNegate && okName
}

// fails reports that a condition is surely not met now.
func (f startFiles) fails(kind, name string, negate bool) bool {
	holds, looked := fileConditions[strings.TrimPrefix(strings.TrimPrefix(kind, "Condition"), "Assert")]
	if !looked {
		return false
	}
	look := hostfile.Stat
	if strings.HasSuffix(kind, "PathIsSymbolicLink") {
		look = hostfile.Lstat
	}
	meta, err := look(f.path(name))
	return (err == nil || hostfile.Missing(err)) && (err == nil && holds(meta)) == negate
}

// environment are files of variables without which no command of the service is started, the first one included.
func (f startFiles) environment(p properties) (list []services.Obstacle) {
	for _, entry := range value[[][]any](p, "EnvironmentFiles") {
		if len(entry) < 2 || entry[1] != false {
			continue
		}
		name, ok := entry[0].(string)
		if ok && !strings.ContainsAny(name, `*?[\`) && f.missing(name) {
			list = append(list, services.Obstacle{Why: "the file " + shown(name) + " of its environment is missing", Sure: true})
		}
	}
	return list
}

// mounting are settings by which a service has other files than systemd.
var mounting = append([]string{"TemporaryFileSystem"}, unitfile.RootSettings...)

// stopRuns reports whether the stop runs commands, which may make what is missing. Without the working directory or the
// environment of the service they cannot be run.
func stopRuns(p properties) bool {
	return len(commands(p["ExecStop"]))+len(commands(p["ExecStopPost"])) > 0
}

// programs are the working directory and the programs that are missing. What a command before them makes is not known.
func (f startFiles) programs(p properties) (list []services.Obstacle) {
	if mounts(p) {
		return nil
	}
	if dir := value[string](p, "WorkingDirectory"); strings.HasPrefix(dir, "/") && !made(p, dir) && f.missing(dir) {
		list = append(list, services.Obstacle{Why: "its working directory " + shown(dir) + " is missing", Sure: true})
	}
	sure := !stopRuns(p)
	for _, property := range []string{"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost"} {
		for _, entry := range value[[][]any](p, property) {
			if why := f.unrunnable(entry); why != "" {
				list = append(list, services.Obstacle{Why: why, Sure: sure})
			}
			sure = false
		}
	}
	return list
}

// unrunnable says why a command cannot be run whose failure counts. Its program is looked for in a path where it is
// named without one.
func (f startFiles) unrunnable(entry []any) string {
	if len(entry) < 3 || entry[2] != false {
		return ""
	}
	program, ok := entry[0].(string)
	if !ok || !strings.HasPrefix(program, "/") {
		return ""
	}
	meta, err := hostfile.Stat(f.path(program))
	switch {
	case hostfile.Missing(err):
		return "its program " + shown(program) + " is missing"
	case err == nil && !canRun(meta):
		return "its program " + shown(program) + " cannot be executed"
	}
	return ""
}

// mounts reports that a service has mounts of its own that may bring files.
func mounts(p properties) bool {
	return slices.ContainsFunc(mounting, func(name string) bool { // a string, or a list of one type or another
		return !slices.Contains([]string{"<nil>", "", "[]"}, fmt.Sprint(p[name]))
	})
}

// made reports that systemd makes a directory at the start (RuntimeDirectory= and those like it of systemd.exec(5)), or
// may have others there than this process (PrivateTmp=).
func made(p properties, dir string) bool {
	for base, name := range map[string]string{
		"/run/": "RuntimeDirectory", "/var/lib/": "StateDirectory", "/var/cache/": "CacheDirectory", "/var/log/": "LogsDirectory", "/etc/": "ConfigurationDirectory",
	} {
		if strings.HasPrefix(dir, base) && len(value[[]string](p, name)) > 0 {
			return true
		}
	}
	return strings.HasPrefix(dir, "/tmp/") || strings.HasPrefix(dir, "/var/tmp/")
}

// getent asks for accounts as systemd does, in all places that nsswitch.conf(5) names.
const getent = "/usr/bin/getent"

// notFound is the exit status of getent(1) for a name that is in no place.
const notFound = 2

// synthesized are names of users and groups that systemd need not look up (src/basic/user-util.c).
var synthesized = []string{"root", "nobody", "nogroup"}

// noAccounts are the user and the group of a service that do not exist. systemd makes those of DynamicUser=. Whether it
// takes a number that nobody has is left open; version 252 does not.
func (m *manager) noAccounts(ctx context.Context, p properties) (list []services.Obstacle) {
	if value[bool](p, "DynamicUser") {
		return nil
	}
	for _, account := range []struct{ property, database, what string }{{"User", "passwd", "user"}, {"Group", "group", "group"}} {
		name := value[string](p, account.property)
		if name == "" || strings.HasPrefix(name, "-") {
			continue
		}
		r, err := m.runner.Run(ctx, sysexec.Command{Path: getent, Args: []string{account.database, name}, MaxOutput: maxTestOutput, Timeout: obstacleLimit})
		if err == nil && r.Exit == notFound {
			sure := strings.Trim(name, "0123456789") != "" && !slices.Contains(synthesized, name)
			list = append(list, services.Obstacle{Why: "its " + account.what + " " + shown(name) + " does not exist", Sure: sure})
		}
	}
	return list
}
