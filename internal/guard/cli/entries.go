// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/internal/trust"
)

// entryFindings say how the servers of the clients that are here stand to the guard.
func entryFindings(ctx context.Context, u clients.User) (all []finding) {
	guard, err := guardProgram()
	if err != nil {
		d := fault.NewDocument("", err)
		all = append(all, finding{ID: "guard", Status: findingProblem, Value: d.Error, Fix: d.Fix})
	}
	for _, c := range clients.All() {
		if c.Found(u) {
			all = append(all, clientFindings(ctx, u, c, guard)...)
		}
	}
	for _, c := range inProject(u) {
		all = append(all, configurationFindings(ctx, u, c, guard)...)
	}
	if len(all) == 0 {
		all = append(all, finding{ID: "clients", Status: findingOK, Value: "No client that is known is here."})
	}
	return all
}

func clientFindings(ctx context.Context, u clients.User, c clients.Client, guard string) (all []finding) {
	for _, note := range outOfReach(u, c) {
		all = append(all, finding{ID: "out_of_reach", Status: findingUnknown, Client: c.ID, Value: note})
	}
	if c.Install == nil {
		return all
	}
	return append(all, configurationFindings(ctx, u, c, guard)...)
}

// configurationFindings says how the servers in one file stand to the guard. That the file of a
// project cannot be read may be meant.
func configurationFindings(ctx context.Context, u clients.User, c clients.Client, guard string) (all []finding) {
	w, err := edit.Servers(ctx, u, c)
	if err != nil {
		d := fault.NewDocument("", err)
		f := finding{ID: "configuration", Status: findingProblem, Client: c.ID, Project: c.Folder, Value: d.Error, Fix: d.Fix}
		if c.Folder != "" {
			f.Status = findingUnknown
		}
		return append(all, f)
	}
	for _, s := range w.Servers {
		e := entryCheck{client: c.ID, folder: c.Folder, path: w.Path, server: s, guard: guard}
		all = append(all, e.findings()...)
	}
	return all
}

// An entryCheck looks at one entry.
type entryCheck struct {
	client, path, guard string
	folder              string // of the project that shares the file; "" for the user's own
	server              edit.Server
}

func (e entryCheck) finding(id, status, value, fix string) finding {
	return finding{ID: id, Status: status, Client: e.client, Server: e.server.Name, Project: e.project(), Value: value, Fix: fix}
}

// project is the folder for which the client has the server.
func (e entryCheck) project() string {
	if e.folder != "" {
		return e.folder
	}
	return e.server.Project
}

// notBehind is all that is wrong with an entry that wrap would take.
const notBehind = "It is not behind the guard."

func (e entryCheck) findings() []finding {
	s := e.server
	switch {
	case s.Why == edit.Disabled:
		return []finding{e.finding("entry", findingOK, "It is disabled, and not started.", "")}
	case s.Why == edit.Remote:
		return []finding{e.finding("entry", findingWarning, "It is not behind the guard: "+s.Why+".", "The guard reaches only servers that the client starts; remove the entry if the server is not to be trusted.")}
	case s.Why != "":
		return []finding{e.finding("entry", findingWarning, "It is not behind the guard: "+s.Why+".", e.correct())}
	case !s.Wrapped && e.folder != "":
		return []finding{e.finding("entry", findingWarning, "It is not behind the guard. The project shares its file, so wrap --all leaves it.", e.wrap()), e.program(s.Command[0])}
	case !s.Wrapped:
		return []finding{e.finding("entry", findingWarning, notBehind, e.wrap()), e.program(s.Command[0])}
	}
	return []finding{e.ownGuard(), e.program(s.Behind[0])}
}

// plainName is one that a shell takes as it stands.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@/-]*$`)

// wrap is the command that puts the entry behind this guard.
func (e entryCheck) wrap() string {
	command := "sentinel-guard wrap --client " + e.client
	if plainName.MatchString(e.server.Name) {
		command += " --server " + e.server.Name
	}
	if e.folder != "" {
		command += " --project"
	}
	return command
}

func (e entryCheck) correct() string {
	return fmt.Sprintf("Correct line %d of %s, then run: %s", e.server.Line, e.path, e.wrap())
}

// ownGuard says whether the guard of an entry is this one.
func (e entryCheck) ownGuard() finding {
	path, status, why := program(e.server.Guard)
	fix := e.wrap()
	if e.folder != "" { // where it has no path
		fix = "The client takes the first sentinel-guard in its PATH: install it there, for all who work on the project."
	}
	switch {
	case status != findingOK:
		return e.finding("guard", status, "The guard that its entry names: "+why, fix)
	case !clients.SameFile(path, e.guard):
		return e.finding("guard", findingWarning, fmt.Sprintf("It is behind another guard, %s; this one is %s.", path, e.guard), fix)
	}
	return e.finding("guard", findingOK, "It is behind this guard.", "")
}

// program says whether the program of a server can start.
func (e entryCheck) program(command string) finding {
	_, status, why := program(command)
	fix := ""
	switch status {
	case findingOK:
	case findingWarning: // it is somewhere else for the client, perhaps
		fix = fmt.Sprintf("If the client does not find it either: install it, or write its whole path in line %d of %s.", e.server.Line, e.path)
	default:
		fix = fmt.Sprintf("Install the program again, or correct line %d of %s.", e.server.Line, e.path)
	}
	return e.finding("program", status, why, fix)
}

// program finds what a client would start, and says what is wrong with it.
func program(command string) (path, status, why string) {
	shown := sanitize.Command([]string{command}, 200)
	switch {
	case strings.HasPrefix(command, "~"), strings.Contains(command, "$"):
		return "", findingUnknown, shown + " is completed by the client, so it was not looked at."
	case strings.Contains(command, "/") && !filepath.IsAbs(command):
		return "", findingUnknown, shown + " depends on the folder in which the client starts it."
	}
	path, err := sysexec.Look(command)
	switch {
	case err != nil && !filepath.IsAbs(command):
		return "", findingWarning, shown + " is not in the PATH here; that of the client may be another."
	case errors.Is(err, fs.ErrNotExist):
		return "", findingProblem, shown + " does not exist."
	case err != nil:
		return "", findingProblem, shown + " cannot be run: it is no program that you may execute."
	}
	if err := trust.RootOrSelf.File(path); err != nil {
		return path, findingProblem, "Others could replace " + shown + ": " + trust.About(path, err) + "."
	}
	return path, findingOK, shown + " is there."
}
