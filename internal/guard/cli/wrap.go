// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/fault"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

// A wrapRequest is what the flags of wrap and unwrap say.
type wrapRequest struct {
	undo    bool
	client  string
	all     bool
	project bool
	server  string
	dryRun  bool
}

func wrapCommand() *cobra.Command {
	return wrapping(&wrapRequest{}, &cobra.Command{
		Use:   "wrap",
		Short: "Put servers in the configurations of clients behind the guard",
		Long: `Wrap rewrites the command of servers that a client starts to one of
"sentinel-guard run". All else keeps every byte; unwrap undoes it exactly.
The file of a project, such as .mcp.json, is shared with those who work on it:
it is changed with --project alone, and then names the guard without its path.
Clients: ` + strings.Join(clients.IDs(), ", ") + ".",
		Example: "  sentinel-guard wrap --client claude-code --dry-run\n  sentinel-guard wrap --all",
	})
}

func unwrapCommand() *cobra.Command {
	return wrapping(&wrapRequest{undo: true}, &cobra.Command{
		Use:     "unwrap",
		Short:   "Take servers out from behind the guard, as they were before",
		Long:    "Unwrap gives the servers that wrap has rewritten their own command back.\nClients: " + strings.Join(clients.IDs(), ", ") + ".",
		Example: "  sentinel-guard unwrap --client claude-code --server memory",
	})
}

func wrapping(r *wrapRequest, cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&r.client, "client", "", "the client whose configuration is changed")
	f.BoolVar(&r.all, "all", false, "all clients that are here")
	f.BoolVar(&r.project, "project", false, "instead of your own files those of the project in this folder or above it")
	f.StringVar(&r.server, "server", "", "only the server of this name")
	f.BoolVar(&r.dryRun, "dry-run", false, "show what would change, and change nothing")
	f.Bool("json", false, "print JSON")
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return r.run(cmd) }
	completes(cmd, "client", clients.IDs()...)
	completesServers(cmd, &r.client, func(s edit.Server, shared bool) bool {
		return s.Why == "" && (s.Wrapped || !r.undo) && shared == r.project
	})
	return cmd
}

// guardProgram returns the path by which clients start the guard; tests have one of their own.
var guardProgram = func() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	return edit.Search{Name: clients.Guard, Own: own, Trusted: trust.RootOnly.File, Root: "/"}.Program()
}

// caller is the person whose clients are configured.
func caller(goos string) clients.User {
	home, _ := os.UserHomeDir() //nolint:errcheck // an empty one is refused
	return clients.User{OS: goos, Home: home, Env: os.Getenv, UID: privilege.EffectiveUID()}
}

// wrappedClients is what wrap and unwrap say.
type wrappedClients struct {
	DryRun  bool            `json:"dry_run"` // nothing was changed
	Clients []wrappedClient `json:"clients"`
}

// A wrappedClient is what wrap says of a client.
type wrappedClient struct {
	Client  string          `json:"client"`
	Path    string          `json:"path"`
	Shared  bool            `json:"shared"` // the file is a project's, for all who work on it
	Changed bool            `json:"changed"`
	Servers []wrappedServer `json:"servers"`
	Notes   []string        `json:"notes"`           // what is not in reach
	Error   string          `json:"error,omitempty"` // why the file is left as it is
	Fix     string          `json:"fix,omitempty"`

	name, reload string
	status       int
}

// A wrappedServer is what wrap says of an entry.
type wrappedServer struct {
	Name    string `json:"name"`
	Project string `json:"project,omitempty"` // the folder for which the client has it
	Line    int    `json:"line"`
	Wrapped bool   `json:"wrapped"`
	Changed bool   `json:"changed"`
	Why     string `json:"why,omitempty"`     // it is not wrapped
	Command string `json:"command,omitempty"` // what starts the server, without arguments
	Guard   string `json:"guard,omitempty"`   // the program that it is behind

	before, after []string
}

func (r *wrapRequest) run(cmd *cobra.Command) error {
	u := caller(system(cmd.Context()))
	chosen, err := r.chosen(u)
	if err != nil {
		return &exit{StatusUsage, err}
	}
	program, err := r.program()
	if err != nil {
		return refused(err)
	}
	all, found, status := []wrappedClient{}, r.server == "", 0
	for _, c := range chosen {
		w := r.one(cmd.Context(), u, c, program)
		if w.Shared && len(w.Servers) == 0 && w.Error == "" {
			continue
		}
		found = found || slices.ContainsFunc(w.Servers, func(s wrappedServer) bool { return s.Name == r.server })
		status = max(status, w.status)
		all = append(all, w)
	}
	if !found && status == 0 {
		return &exit{StatusUsage, fmt.Errorf("no client that was looked at has a server named %q", shown(r.server))}
	}
	err = printed(cmd, wrappedClients{r.dryRun, all}, func() string { return r.text(all) })
	if err == nil && status != 0 {
		return &exit{status: status}
	}
	return err
}

// chosen returns the clients that are meant.
func (r *wrapRequest) chosen(u clients.User) ([]clients.Client, error) {
	if r.client != "" && r.all {
		return nil, errors.New("--client and --all do not go together")
	}
	if err := known(r.client); err != nil {
		return nil, err
	}
	if r.client == "" && !r.all {
		return nil, errors.New("which client? --client NAME or --all; known are " + strings.Join(clients.IDs(), ", "))
	}
	named := func(c clients.Client) bool { return r.client == c.ID }
	if r.project {
		return slices.DeleteFunc(ofProject(u), func(c clients.Client) bool { return !r.all && !named(c) }), nil
	}
	if r.all {
		return append(slices.DeleteFunc(slices.Clone(clients.All()), func(c clients.Client) bool { return !c.Found(u) }), inProject(u)...), nil
	}
	return slices.DeleteFunc(append(slices.Clone(clients.All()), ofProject(u)...), func(c clients.Client) bool { return !named(c) }), nil
}

// known refuses a client that is not in the table. One whose configuration is not edited is.
func known(id string) error {
	if id == "" || slices.ContainsFunc(clients.All(), func(c clients.Client) bool { return c.ID == id }) {
		return nil
	}
	return fmt.Errorf("no client %q is known; known are %s", shown(id), strings.Join(clients.IDs(), ", "))
}

// refused gives an error of the configuration its exit status and its fix.
func refused(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		d := fault.NewDocument("", err)
		return &exit{editStatus(f.Code), errors.New(d.Error + "\n" + d.Fix)}
	}
	return &exit{StatusUnjudged, err}
}

// editStatus is the exit status for a configuration that was not edited.
func editStatus(code fault.Code) int {
	if code == fault.PermissionDenied {
		return StatusForbidden
	}
	return StatusUnjudged
}

// one wraps or unwraps the servers of a client.
func (r *wrapRequest) one(ctx context.Context, u clients.User, c clients.Client, program string) wrappedClient {
	w := wrappedClient{Client: c.ID, Path: c.File(u), Shared: c.Folder != "", Servers: []wrappedServer{}, Notes: outOfReach(u, c), name: c.Name}
	switch {
	case c.Install == nil:
		return w
	case c.Folder != "" && !r.project:
		return r.spared(ctx, u, c)
	}
	w.reload = c.Install.Reload
	only := func(name string) bool { return r.server == "" || name == r.server }
	done, err := r.edit(ctx, u, c, program, only)
	if err != nil {
		d := fault.NewDocument("", err)
		w.Error, w.Fix, w.status = d.Error, d.Fix, editStatus(d.ErrorCode)
		return w
	}
	w.Changed = done.Changed
	if w.Shared && w.Changed && !r.undo {
		w.Notes = append(w.Notes, "Whoever works on this project needs sentinel-guard in the PATH of the client.")
	}
	for _, s := range done.Servers {
		if only(s.Name) {
			w.Servers = append(w.Servers, newWrappedServer(s))
		}
	}
	return w
}

func (r *wrapRequest) edit(ctx context.Context, u clients.User, c clients.Client, program string, only func(string) bool) (edit.Wrapping, error) {
	if r.undo {
		return edit.Unwrap(ctx, u, c, only, r.dryRun)
	}
	return edit.Wrap(ctx, u, c, program, only, r.dryRun)
}

func newWrappedServer(s edit.Server) wrappedServer {
	w := wrappedServer{Name: s.Name, Project: s.Project, Line: s.Line, Wrapped: s.Wrapped, Changed: s.Before != nil, Why: s.Why, Guard: s.Guard, before: s.Before, after: s.Command}
	switch {
	case s.Wrapped:
		w.Command = s.Behind[0]
	case len(s.Command) > 0:
		w.Command = s.Command[0]
	}
	return w
}

// maxExtensions is how many extensions of a client are named.
const maxExtensions = 50

// outOfReach says which servers of a client no edit of its configuration reaches.
func outOfReach(u clients.User, c clients.Client) []string {
	if c.Folder != "" {
		return []string{} // it has nothing to do with the file of a project
	}
	notes := ofTheAdministrator(u, c)
	if c.Install == nil {
		return append(notes, "its configuration is not edited here; begin the command of each server in it by hand with: sentinel-guard run --name=NAME --")
	}
	if c.ID != "claude-desktop" {
		return notes
	}
	dir, err := os.Open(filepath.Join(filepath.Dir(c.File(u)), "Claude Extensions"))
	if err != nil {
		return notes
	}
	defer dir.Close()                             //nolint:errcheck // only read from
	names, err := dir.Readdirnames(maxExtensions) // those of one bundle are not to be edited
	slices.Sort(names)
	for _, name := range names {
		notes = append(notes, "the extension "+sanitize.Text(name, width)+" is a bundle, whose command is not in a configuration; to have it behind the guard, enter its server by hand")
	}
	if err == nil && len(names) == maxExtensions {
		notes = append(notes, "and perhaps further extensions")
	}
	return notes
}

// text is the answer for people.
func (r *wrapRequest) text(all []wrappedClient) string {
	switch {
	case len(all) == 0 && r.project:
		return "No client has servers in a file of this folder, nor of one above it.\n"
	case len(all) == 0:
		return "No client that is known is here.\n"
	}
	var b strings.Builder
	for i, w := range all {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s\n", w.name, shown(w.Path))
		if w.Error != "" {
			b.WriteString(wrapped(w.Error, "  ") + wrapped(w.Fix, "  "))
		} else if len(w.Servers) == 0 && len(w.Notes) == 0 {
			b.WriteString("  no servers\n")
		}
		for _, s := range w.Servers {
			b.WriteString(r.serverText(s))
		}
		for _, n := range w.Notes {
			b.WriteString(wrapped(n, "  "))
		}
		if w.Changed && !r.dryRun {
			b.WriteString(wrapped(w.reload, "  "))
		}
	}
	switch {
	case r.dryRun:
		b.WriteString("\nNothing was changed: this was a dry run.\n")
	case !r.undo && slices.ContainsFunc(all, func(w wrappedClient) bool { return w.Changed }):
		b.WriteString("\nWhat then runs behind the guard: sentinel-guard status\n")
	}
	return b.String()
}

func (r *wrapRequest) serverText(s wrappedServer) string {
	state := "not wrapped"
	switch {
	case s.Why != "":
		state += ": " + s.Why
	case s.Changed && r.dryRun:
		state = "would be " + map[bool]string{true: "unwrapped", false: "wrapped"}[r.undo]
	case s.Changed:
		state = map[bool]string{true: "unwrapped", false: "wrapped"}[r.undo]
	case s.Wrapped && r.undo:
		state = "still wrapped"
	case s.Wrapped:
		state = "wrapped already"
	}
	text := wrapped(fmt.Sprintf("%s%s (line %d): %s", sanitize.Text(s.Name, width/2), inFolder(s.Project), s.Line, state), "  ")
	if s.Changed {
		text += difference(s.before, s.after)
	}
	return text
}

// difference shows how a command line changes, an argument a line, without those that stay: they
// may hold secrets.
func difference(before, after []string) string {
	was, is := before[1:], after[1:]
	stay := 0
	for stay < len(was) && stay < len(is) && was[len(was)-1-stay] == is[len(is)-1-stay] {
		stay++
	}
	var b strings.Builder
	line := func(sign, text string) {
		b.WriteString(sanitize.Text("  "+sign+" "+text, width-1) + "\n")
	}
	words := func(sign string, all []string) {
		for _, w := range all {
			line(sign, "  "+sanitize.Command([]string{w}, width))
		}
	}
	line("-", "command: "+sanitize.Command(before[:1], width))
	line("+", "command: "+sanitize.Command(after[:1], width))
	line(" ", "args:")
	words("-", was[:len(was)-stay])
	words("+", is[:len(is)-stay])
	if stay > 0 {
		line(" ", fmt.Sprintf("  (%d more, as before)", stay))
	}
	return b.String()
}
