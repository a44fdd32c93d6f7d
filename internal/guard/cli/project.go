// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"slices"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/fault"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

// workingFolder returns the folder in which one works; tests have one of their own.
var workingFolder = os.Getwd

// ofProject returns the clients that have a file in the project in which one works, also those that
// only others who work on it use.
func ofProject(u clients.User) []clients.Client {
	dir, err := workingFolder()
	if err != nil {
		return nil // it was removed, and so were its files
	}
	return clients.InProject(u, dir)
}

// inProject returns those of them that are here.
func inProject(u clients.User) []clients.Client {
	return slices.DeleteFunc(ofProject(u), func(c clients.Client) bool {
		own, ok := clients.ByID(c.ID)
		return !ok || !own.Found(u)
	})
}

// ofTheAdministrator says which servers of a client are in files for all users.
func ofTheAdministrator(u clients.User, c clients.Client) []string {
	notes := []string{}
	for _, path := range c.Managed(u.OS) {
		raw, err := trust.RootOrSelf.Read(path, clients.MaxFile>>10)
		if err != nil {
			continue // it is not there, or not an administrator's
		}
		if servers, _ := clients.Parse(raw); len(servers) > 0 { //nolint:errcheck // what cannot be read has none
			notes = append(notes, humanize.Count(len(servers), "server", "servers")+" in "+path+" can be put behind the guard by the administrator alone: sentinel-guard run --name=NAME -- before the command of each")
		}
	}
	return notes
}

// inFolder names the folder for which a client has a server, where there is one.
func inFolder(path string) string {
	if path == "" {
		return ""
	}
	return " in " + sanitize.Text(path, width)
}

// program returns how clients are to start the guard. It is somewhere else for each who shares a
// project.
func (r *wrapRequest) program() (string, error) {
	switch {
	case r.undo:
		return "", nil
	case r.project:
		return clients.Guard, nil
	}
	return guardProgram()
}

// spared says what stands in a file that a project shares, which is changed on demand alone. That it
// cannot be read is no failure of what was asked for.
func (r *wrapRequest) spared(ctx context.Context, u clients.User, c clients.Client) wrappedClient {
	w := wrappedClient{Client: c.ID, Path: c.File(u), Shared: true, Servers: []wrappedServer{}, Notes: []string{}, name: c.Name}
	done, err := edit.Servers(ctx, u, c)
	if err != nil {
		d := fault.NewDocument("", err)
		w.Error, w.Fix = d.Error, d.Fix
		return w
	}
	for _, s := range done.Servers {
		if r.server == "" || s.Name == r.server {
			w.Servers = append(w.Servers, newWrappedServer(s))
		}
	}
	if slices.ContainsFunc(w.Servers, func(s wrappedServer) bool { return s.Why == "" && s.Wrapped == r.undo }) {
		verb := map[bool]string{true: "unwrap", false: "wrap"}[r.undo]
		w.Notes = append(w.Notes, "The project shares this file, so it is left as it is, unless you ask for it: sentinel-guard "+verb+" --client "+c.ID+" --project")
	}
	return w
}
