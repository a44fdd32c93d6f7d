// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/platform/darwin/launchctl"
	"sentinel/platform/darwin/plist"
	"sentinel/platform/unix/shellscript"
)

// A job is a property list of launchd (launchd.plist(5)).
type job struct {
	Label     string
	Program   string
	Bundled   string   `plist:"BundleProgram"`
	Arguments []string `plist:"ProgramArguments"`
	UserName  string
	RunAtLoad bool
	KeepAlive any
	Interval  int      `plist:"StartInterval"`
	Calendar  any      `plist:"StartCalendarInterval"`
	Watch     []string `plist:"WatchPaths"`
	Queues    []string `plist:"QueueDirectories"`
	OnMount   bool     `plist:"StartOnMount"`
	Sockets   any
	Services  any `plist:"MachServices"`
	Disabled  bool
}

// launchDirs hold the jobs of the system. Those of macOS are on its sealed volume.
var launchDirs = []struct {
	path string
	kind startup.Kind
}{
	{"/System/Library/LaunchDaemons", startup.Daemon}, {"/System/Library/LaunchAgents", startup.Agent},
	{"/Library/Apple/System/Library/LaunchDaemons", startup.Daemon}, {"/Library/Apple/System/Library/LaunchAgents", startup.Agent},
	{"/Library/LaunchDaemons", startup.Daemon}, {"/Library/LaunchAgents", startup.Agent},
}

// launchd finds the jobs of the system. Those of users are in their homes.
func (s *survey) launchd(ctx context.Context) {
	disabled, err := launchctl.Client{Runner: s.Runner}.Disabled(ctx, "system")
	if err != nil {
		s.miss("/bin/launchctl", err)
	}
	for _, d := range launchDirs {
		for _, name := range s.names(d.path) {
			if !strings.HasSuffix(name, ".plist") {
				continue
			}
			if f, ok := s.open(d.path + "/" + name); ok {
				s.job(f, d.kind, "", disabled)
			}
		}
	}
}

// job adds a job. user is whose it is; "" for the system.
func (s *survey) job(f file, kind startup.Kind, user string, disabled map[string]bool) {
	var j job
	if err := plist.Decode(f.raw, &j); err != nil {
		s.miss(f.name, err)
		return
	}
	off, decided := disabled[j.Label]
	if !decided {
		off = j.Disabled
	}
	e := startup.Entry{Kind: kind, Name: j.Label, Identity: j.Label, When: j.when(), User: user, By: by(user), Enabled: new(!off), Origin: startup.NoPackage}
	if e.Name == "" {
		e.Name = path.Base(f.name)
	}
	if kind == startup.Daemon {
		if e.User = j.UserName; e.User == "" {
			e.User = "root"
		}
	}
	if ofSystem(f.name) {
		e.Origin, e.Package = startup.Packaged, "macOS"
	}
	s.add(f, e, j.programs(f.shell)...)
}

func (j job) programs(sh *shellscript.Reader) []string {
	if j.Program != "" && len(j.Arguments) > 0 {
		return shellscript.Once(append(sh.Command([]string{j.Program}), sh.Command(slices.Concat([]string{j.Program}, j.Arguments[1:]))...))
	}
	for _, words := range [][]string{j.Arguments, {j.Program}, {j.Bundled}} {
		if len(words) > 0 && words[0] != "" {
			return sh.Command(words)
		}
	}
	return nil
}

// when says what makes launchd start the job.
func (j job) when() string {
	var list []string
	for _, trigger := range []struct {
		is   bool
		text string
	}{
		{j.RunAtLoad, "load"}, {j.KeepAlive != nil && j.KeepAlive != false, "kept alive"}, {j.Interval > 0, fmt.Sprintf("every %d s", j.Interval)}, {j.Calendar != nil, "calendar"},
		{len(j.Watch)+len(j.Queues) > 0, "files"}, {j.OnMount, "mount"}, {j.Sockets != nil, "socket"}, {j.Services != nil, "mach service"},
	} {
		if trigger.is {
			list = append(list, trigger.text)
		}
	}
	return strings.Join(list, ", ")
}
