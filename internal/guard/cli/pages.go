// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Page is what a manual says of one command.
type Page struct {
	Path    string // the words before the arguments, such as "sentinel-guard policy check"
	Usage   string // the whole command line
	Text    string // its lines as they stand in the help; indented ones are code
	Example string
	Flags   []Flag
}

// A Flag is one of a command, or of all below the one that has it.
type Flag struct {
	Name, Short string // without dashes; Short may be ""
	Value       string // what follows; "" when nothing does
	About       string
}

// Pages returns the program itself and every command that does something, in the order of the help.
func Pages() []Page { return pagesOf(newRoot(new(bool))) }

func pagesOf(cmd *cobra.Command) []Page {
	var all []Page
	if !cmd.HasParent() || !cmd.HasSubCommands() { // others print their help
		all = append(all, pageOf(cmd))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, pagesOf(sub)...)
		}
	}
	return all
}

func pageOf(cmd *cobra.Command) Page {
	p := Page{Path: cmd.CommandPath(), Usage: cmd.UseLine(), Text: cmd.Long, Example: cmd.Example}
	if p.Text == "" {
		p.Text = cmd.Short + "."
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { p.Flags = append(p.Flags, flagOf(f)) })
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { p.Flags = append(p.Flags, flagOf(f)) })
	p.Flags = slices.DeleteFunc(p.Flags, func(f Flag) bool { return f.Name == "help" })
	return p
}

func flagOf(f *pflag.Flag) Flag {
	value, about := pflag.UnquoteUsage(f)
	if f.DefValue != "" && f.DefValue != "[]" && f.Value.Type() != "bool" {
		about += " (default " + f.DefValue + ")"
	}
	return Flag{f.Name, f.Shorthand, strings.ToUpper(value), about}
}
