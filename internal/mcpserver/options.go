// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sentinel/internal/clients"
	"sentinel/internal/completion"
	"sentinel/internal/ops"
	"sentinel/internal/remote"
)

// The bounds of --timeout. The upper one is also the default: clients give up
// after about a minute.
const (
	minTimeout = time.Second
	maxTimeout = 45 * time.Second
)

// allToolsets stands for every toolset.
const allToolsets = "all"

// options is a checked command line.
type options struct {
	sentinel string // absolute; "" means beside the own executable
	toolsets []string
	readOnly bool
	disabled []string
	hosts    []string // other machines that tools may be run on
	timeout  time.Duration
	level    slog.Level
	version  bool
	help     bool
	usage    string // of the flags, for help
	flags    *pflag.FlagSet
	shell    string // whose completions are to be printed; "" is none
	manage   management
}

// parseOptions checks the arguments of the command line, without the name of
// the program, against the operations of table.
func parseOptions(args []string, table []ops.Operation) (options, error) {
	o := options{toolsets: []string{ops.DefaultToolset}, timeout: maxTimeout, level: slog.LevelWarn}
	set := pflag.NewFlagSet(Name, pflag.ContinueOnError)
	set.SortFlags = false
	set.Usage = func() {}
	o.define(set, table)
	o.flags = set
	o.usage = set.FlagUsagesWrapped(80)
	if err := set.Parse(args); err != nil {
		return options{}, flagError(err, set)
	}
	if set.NArg() > 0 {
		return options{}, fmt.Errorf("%q is not a flag; %s takes only flags%s", set.Arg(0), Name, meant(set.Arg(0), set))
	}
	if err := o.manage.check(set, map[string][]string{"disable-tool": o.disabled, "host": o.hosts}); err != nil {
		return options{}, err
	}
	return o, nil
}

func (o *options) define(set *pflag.FlagSet, table []ops.Operation) {
	text := func(name, kind, usage, initial string, take func(string) error, among ...string) {
		set.Var(&once{kind: kind, text: initial, take: take, among: among}, name, usage)
	}
	toggle := func(name, short, usage string, target *bool) {
		set.VarP(&once{kind: "bool", text: "false", take: toggler(target)}, name, short, usage)
		set.Lookup(name).NoOptDefVal = "true"
	}
	text("sentinel", "path", "absolute `path` of the sentinel to run; default: the one beside sentinel-mcp", "", o.takeSentinel)
	text("toolsets", "names", "toolset `names` to offer, separated by commas: "+strings.Join(toolsets(), ", ")+"; --install enters "+ops.InstalledToolsets+" without it",
		ops.DefaultToolset, o.takeToolsets, toolsets()...)
	toggle("read-only", "", "offer only tools that change nothing and send nothing out", &o.readOnly)
	set.Var(&each{take: func(s string) error { return o.takeDisabled(s, table) }, among: namesOf(table)}, "disable-tool",
		"`name` of a tool not to offer; may be repeated")
	set.Var(&each{take: o.takeHost}, "host", "`name` of another machine, as ssh takes it, that tools may be run on; may be repeated; default: hosts of the configuration")
	text("timeout", "duration", "longest `duration` of one call, 1s to 45s", maxTimeout.String(), o.takeTimeout)
	text("log-level", "level", "`level` of the log on stderr: debug, info, warn or error", "warn", o.takeLevel, "debug", "info", "warn", "error")
	text("install", "client", "enter sentinel-mcp, with the flags above, into the configuration of a `client`: "+strings.Join(clients.IDs(), ", "),
		"", clientID(&o.manage.install), clients.IDs()...)
	text("uninstall", "client", "take it out of the configuration of a `client` again", "", clientID(&o.manage.uninstall), clients.IDs()...)
	toggle("guarded", "", "with --install: behind sentinel-guard, with the preset sentinel", &o.manage.guarded)
	toggle("dry-run", "", "only show what --install or --uninstall would change", &o.manage.dryRun)
	toggle("json", "", "report on --install or --uninstall as one JSON document", &o.manage.json)
	text("completion", "shell", "print completions for a `shell`: "+strings.Join(completion.Shells(), ", "), "", o.takeShell, completion.Shells()...)
	toggle("version", "V", "print the version and exit", &o.version)
	toggle("help", "h", "print this help and exit", &o.help)
}

func namesOf(table []ops.Operation) []string {
	var names []string
	for _, op := range table {
		names = append(names, op.Name)
	}
	return names
}

// toolsets lists the names that --toolsets takes: every toolset, and all.
func toolsets() []string { return append(ops.Toolsets(), allToolsets) }

func (o *options) takeSentinel(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("must be an absolute path, not %q", path)
	}
	if err := runnable(path); err != nil {
		return fmt.Errorf("must name a program that can be run: %w", err)
	}
	o.sentinel = filepath.Clean(path)
	return nil
}

// runnable returns why the file at path cannot be run, or nil.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %q", path)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is not a regular file", path)
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%q is not executable", path)
	}
	return nil
}

// takeToolsets takes an empty list for the default: clients that ask their user
// for the names pass on an empty field.
func (o *options) takeToolsets(list string) error {
	if list == "" {
		return nil
	}
	known := toolsets()
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("has no toolset %q; known are %s", name, strings.Join(known, ", "))
		}
	}
	o.toolsets = names
	return nil
}

func (o *options) takeDisabled(name string, table []ops.Operation) error {
	known := namesOf(table)
	if !slices.Contains(known, name) {
		return fmt.Errorf("has no tool %q; known are %s", name, strings.Join(known, ", "))
	}
	o.disabled = append(o.disabled, name)
	return nil
}

func (o *options) takeHost(name string) error {
	if err := remote.CheckName(name); err != nil {
		return fmt.Errorf("takes no such name: %w", err)
	}
	o.hosts = append(o.hosts, name)
	return remote.CheckNames(o.hosts)
}

func (o *options) takeTimeout(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < minTimeout || d > maxTimeout {
		return fmt.Errorf("must be a duration from %v to %v such as 30s, not %q", minTimeout, maxTimeout, text)
	}
	o.timeout = d
	return nil
}

func (o *options) takeLevel(text string) error {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	level, ok := levels[text]
	if !ok {
		return fmt.Errorf("must be debug, info, warn or error, not %q", text)
	}
	o.level = level
	return nil
}

func toggler(target *bool) func(string) error {
	return func(text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("takes no value, or true or false, not %q", text)
		}
		*target = text == "true"
		return nil
	}
}
