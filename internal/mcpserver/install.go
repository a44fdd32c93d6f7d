// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/answer"
	"sentinel/internal/clients"
	"sentinel/internal/clients/edit"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

// management is the part of a command line that configures a client instead of
// serving one.
type management struct {
	install, uninstall string // IDs of clients
	dryRun, json       bool
	guarded            bool     // behind sentinel-guard
	serverFlags        []string // with which the client starts the server; nil for none
}

// requested says that a client is to be configured.
func (m management) requested() bool { return m.install != "" || m.uninstall != "" }

// ownFlags are the flags that are not passed on to the server.
func ownFlags() []string {
	return []string{"install", "uninstall", "guarded", "dry-run", "json", "completion", "version", "help"}
}

// check refuses flags that do not go together, and notes those that the client
// is to pass to the server, in the order of --help.
//
// repeated has the values of flags that may be repeated.
func (m *management) check(set *pflag.FlagSet, repeated map[string][]string) error {
	set.VisitAll(func(f *pflag.Flag) {
		switch {
		case !f.Changed || slices.Contains(ownFlags(), f.Name):
		case repeated[f.Name] != nil:
			for _, value := range repeated[f.Name] {
				m.serverFlags = append(m.serverFlags, "--"+f.Name+"="+value)
			}
		case f.NoOptDefVal == f.Value.String():
			m.serverFlags = append(m.serverFlags, "--"+f.Name)
		default:
			m.serverFlags = append(m.serverFlags, "--"+f.Name+"="+f.Value.String())
		}
	})
	switch {
	case m.install != "" && m.uninstall != "":
		return errors.New("--install and --uninstall do not go together")
	case !m.requested() && (m.dryRun || m.json):
		return errors.New("--dry-run and --json belong to --install and --uninstall")
	case m.guarded && m.install == "":
		return errors.New("--guarded belongs to --install")
	case m.uninstall != "" && m.serverFlags != nil:
		name, _, _ := strings.Cut(m.serverFlags[0], "=")
		return fmt.Errorf("%s does not go together with --uninstall", name)
	}
	return nil
}

// clientID returns the setter of a flag whose value is the ID of a client.
func clientID(target *string) func(string) error {
	return func(id string) error {
		if _, ok := clients.ByID(id); !ok {
			return fmt.Errorf("knows no client %q; known are %s", id, strings.Join(clients.IDs(), ", "))
		}
		*target = id
		return nil
	}
}

// A clientDocument reports what --install or --uninstall did.
type clientDocument struct {
	answer.Header
	Client  string   `json:"client"`
	Path    string   `json:"path"`
	Changed bool     `json:"changed"`
	DryRun  bool     `json:"dry_run"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Guard   string   `json:"guard,omitempty"` // the sentinel-guard before it
	Backup  string   `json:"backup,omitempty"`
	Change  string   `json:"change,omitempty"` // the lines that differ
	Message string   `json:"message"`
}

// run configures a client and returns the exit status.
func (m management) run(ctx context.Context, goos string, stdout, stderr io.Writer) int {
	action := map[bool]string{true: "install_client", false: "uninstall_client"}[m.install != ""]
	document, err := m.configure(ctx, goos)
	if err != nil {
		return m.fail(fault.NewDocument(action, err), stdout, stderr)
	}
	document.Header = answer.NewHeader(action, true)
	if m.json {
		return emit(document, fault.ExitOK, stdout)
	}
	if m.dryRun && document.Change != "" {
		fmt.Fprint(stdout, document.Change) //nolint:errcheck // nowhere to report to
	}
	fmt.Fprintln(stdout, document.Message) //nolint:errcheck // nowhere to report to
	return fault.ExitOK
}

func (m management) fail(d fault.Document, stdout, stderr io.Writer) int {
	if m.json {
		return emit(d, fault.ExitFailed, stdout)
	}
	fmt.Fprintf(stderr, "%s: %s\n%s\n", Name, d.Error, d.Fix) //nolint:errcheck // nowhere to report to
	return fault.ExitFailed
}

func emit(document any, status int, stdout io.Writer) int {
	e := json.NewEncoder(stdout)
	e.SetEscapeHTML(false)
	if e.Encode(document) != nil {
		return fault.ExitFailed
	}
	return status
}

func (m management) configure(ctx context.Context, goos string) (clientDocument, error) {
	client, _ := clients.ByID(m.install + m.uninstall)
	home, _ := os.UserHomeDir() //nolint:errcheck // an empty one is refused
	user := clients.User{OS: goos, Home: home, Env: os.Getenv, UID: privilege.EffectiveUID()}
	found := client.Found(user)
	change, err := m.change(ctx, user, client)
	if err != nil {
		return clientDocument{}, err
	}
	d := clientDocument{
		Client: client.ID, Path: change.Path, Changed: change.Changed, DryRun: m.dryRun,
		Command: change.Entry.Command, Args: change.Entry.Args, Guard: change.Entry.Guard, Backup: change.Backup, Message: m.message(client, change, found),
	}
	if change.Changed {
		d.Change = printable(change.String())
	}
	return d, nil
}

// printable cleans what was written by others and keeps its lines.
func printable(text string) string {
	const most, width = 100, 300
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > most {
			b.WriteString("...\n")
			break
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, "+- \t"))]
		b.WriteString(strings.ReplaceAll(indent, "\t", "  ") + sanitize.Text(strings.TrimSpace(strings.TrimLeft(line, "+- \t")), width) + "\n")
	}
	return b.String()
}

func (m management) change(ctx context.Context, u clients.User, c clients.Client) (edit.Change, error) {
	if m.uninstall != "" {
		return edit.Uninstall(ctx, u, c, m.dryRun)
	}
	self, err := os.Executable()
	if err != nil {
		return edit.Change{}, fault.Wrap(fault.Unavailable, "sentinel-mcp cannot tell where it is installed", err)
	}
	program, err := edit.Search{Name: clients.Program, Own: self, Trusted: trust.RootOnly.File, Root: "/"}.Program()
	if err != nil {
		return edit.Change{}, err
	}
	entry := m.entry(program)
	if m.guarded {
		if entry.Guard, err = guardBeside(program, self); err != nil {
			return edit.Change{}, err
		}
	}
	return edit.Install(ctx, u, c, entry, m.dryRun)
}

// guardBeside returns the sentinel-guard that belongs to a sentinel-mcp.
func guardBeside(programs ...string) (string, error) {
	for _, p := range programs {
		guard := filepath.Join(filepath.Dir(p), clients.Guard)
		if info, err := os.Stat(guard); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return edit.Search{Name: clients.Guard, Own: guard, Trusted: trust.RootOnly.File, Root: "/"}.Program()
		}
	}
	return "", fault.New(fault.Unavailable, "There is no sentinel-guard beside "+programs[0]+".").
		WithFix("Install all three programs, from the folder of the release or source: sudo make install")
}

// entry is how the client is to start the server. One that is new, and one whose flags are given
// without --toolsets, gets the tools for diagnosis too; an entry that is there stays as it is
// without flags.
func (m management) entry(program string) edit.Entry {
	const flag = "--toolsets="
	e := edit.Entry{Command: program, Args: m.serverFlags, Initial: []string{flag + ops.InstalledToolsets}}
	if e.Args != nil && !slices.ContainsFunc(e.Args, func(arg string) bool { return strings.HasPrefix(arg, flag) }) {
		e.Args = append(e.Initial, e.Args...)
	}
	return e
}

// message says in sentences for people what was done, or would be.
func (m management) message(c clients.Client, change edit.Change, found bool) string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	switch {
	case m.install != "" && !change.Changed:
		say("%s has sentinel-mcp already; nothing was changed in %s.", c.Name, change.Path)
	case m.uninstall != "" && !change.Changed:
		say("%s does not have sentinel-mcp; nothing was changed in %s.", c.Name, change.Path)
	case m.dryRun:
		say("Nothing was changed: this was a dry run.")
	case m.install != "":
		say("%s now has sentinel-mcp, in %s.", c.Name, change.Path)
	default:
		say("%s no longer has sentinel-mcp; it was taken out of %s.", c.Name, change.Path)
	}
	if change.Changed && !m.dryRun {
		if change.Backup != "" {
			say("What was there before is in %s.", change.Backup)
		}
		said = append(said, c.Install.Reload)
	}
	if m.install != "" && change.Entry.Guard != "" {
		say("It is behind sentinel-guard; to take it out from there: sentinel-guard unwrap --client %s --server sentinel", c.ID)
	}
	if m.install != "" && !found {
		say("Nothing else of %s was found here; it reads this file once it is installed.", c.Name)
	}
	return strings.Join(said, "\n")
}
