// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/completion"
)

func (o *options) takeShell(shell string) error {
	if !slices.Contains(completion.Shells(), shell) {
		return fmt.Errorf("knows no shell %q; known are %s", shell, strings.Join(completion.Shells(), ", "))
	}
	o.shell = shell
	return nil
}

// completions returns the script for the shell that was asked for.
func (o *options) completions() string {
	p := completion.Program{Name: Name}
	o.flags.VisitAll(func(f *pflag.Flag) {
		_, about := pflag.UnquoteUsage(f)
		flag := completion.Flag{Name: f.Name, Short: f.Shorthand, About: about}
		flag.Takes, flag.IsFile = f.NoOptDefVal == "", f.Name == "sentinel"
		switch value := f.Value.(type) {
		case *once:
			flag.Among = value.among
		case *each:
			flag.Among = value.among
		}
		p.Flags = append(p.Flags, flag)
	})
	p.Choices, p.Usual = choices(p.Flags)
	script, _ := completion.Script(p, o.shell)
	return script
}

// choices are the flags that go with what a run can do besides serving, and those of a server, which go
// where nothing was chosen yet, and with --install.
func choices(all []completion.Flag) (list []completion.Choice, usual []string) {
	alone := []string{"uninstall", "completion", "version", "help"}
	var server []string
	for _, f := range all {
		if !slices.Contains(ownFlags(), f.Name) {
			server = append(server, f.Name)
		}
	}
	list = []completion.Choice{{Typed: []string{"--install"}, Flags: append(slices.Clone(server), "guarded", "dry-run", "json")}}
	for _, name := range alone {
		c := completion.Choice{Typed: []string{"--" + name}}
		if name == "uninstall" {
			c.Flags = []string{"dry-run", "json"}
		}
		list = append(list, c)
	}
	return list, slices.Concat(server, []string{"install"}, alone)
}
