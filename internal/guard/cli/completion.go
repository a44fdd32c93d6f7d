// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/sanitize"
)

// completes has shells offer these values of a flag.
func completes(cmd *cobra.Command, flag string, values ...string) {
	offers(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completesServers has shells offer, for the flag server, the servers that are wanted of the client
// that is named, of all where none is.
func completesServers(cmd *cobra.Command, client *string, want func(s edit.Server, shared bool) bool) {
	offers(cmd, "server", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		u := caller(system(cmd.Context()))
		for _, c := range configurations(u) {
			if *client != "" && c.ID != *client {
				continue
			}
			w, err := edit.Servers(cmd.Context(), u, c)
			if err != nil {
				continue
			}
			for _, s := range w.Servers {
				if want(s, c.Folder != "") && s.Name != "" && sanitize.Text(s.Name, width) == s.Name {
					names = append(names, s.Name)
				}
			}
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	})
}

func offers(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag
	}
}

// configurations returns the clients that are here and can be edited, each with one of its files:
// those of the user, then those of the project in which one works.
func configurations(u clients.User) []clients.Client {
	own := slices.DeleteFunc(clients.Installable(), func(c clients.Client) bool { return !c.Found(u) })
	return append(own, inProject(u)...)
}
