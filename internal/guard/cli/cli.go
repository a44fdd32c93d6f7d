// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line of sentinel-guard.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/version"
)

// Exit statuses. That of run is the server's.
const (
	StatusFound       = 1   // what was looked for is there: a finding, a line that does not verify
	StatusUsage       = 2   // the command line is wrong
	StatusForbidden   = 3   // the system did not permit it
	StatusUnjudged    = 70  // it could not be judged
	StatusInterrupted = 130 // a signal ended it
)

// An exit ends the program with a status; without a cause it prints nothing.
type exit struct {
	status int
	cause  error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return ""
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error { return e.cause }

// systemKey is that of the name of the operating system in a context.
type systemKey struct{}

// system returns the operating system that the commands are for, as runtime.GOOS names it.
func system(ctx context.Context) string {
	name, _ := ctx.Value(systemKey{}).(string)
	return name
}

// Run does what the arguments say, on an operating system as runtime.GOOS names it, and returns the
// exit status.
func Run(ctx context.Context, goos string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	started := false
	root := newRoot(&started)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.WithValue(ctx, systemKey{}, goos))
	if err != nil && err.Error() != "" {
		tell(stderr, err.Error())
	}
	return statusOf(err, started)
}

func statusOf(err error, started bool) int {
	var e *exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.status
	case !started:
		return StatusUsage
	case errors.Is(err, context.Canceled):
		return StatusInterrupted
	default:
		return StatusUnjudged
	}
}

// newRoot returns the whole tree. What fails before *started is the command line.
func newRoot(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "sentinel-guard -- COMMAND [ARG...]",
		Short: "A guard between an MCP client and an MCP server",
		Long: `sentinel-guard stands between an MCP client and an MCP server. What it lets
through arrives byte for byte. What cannot be read in exactly one way, and what
your rules do not allow, is refused with an answer.`,
		Example: "  sentinel-guard wrap --client claude-code --dry-run\n  sentinel-guard -- npx -y @modelcontextprotocol/server-everything",
		Version: version.Number,

		DisableFlagsInUseLine: true,
		SilenceUsage:          true,
		SilenceErrors:         true,
		Args:                  rootArgs,
		PersistentPreRun:      func(*cobra.Command, []string) { *started = true },
		RunE:                  runRoot,
		CompletionOptions:     cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetUsageTemplate(strings.NewReplacer(
		"Use \"{{.CommandPath}} [command] --help\" for more information about a command.", "{{.CommandPath}} COMMAND --help says more about one.",
		".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width),
	).Replace(root.UsageTemplate()))
	root.SetVersionTemplate("sentinel-guard {{.Version}}\n")
	root.Flags().BoolP("version", "V", false, "print the version")
	root.AddCommand(Commands()...)
	return root
}

// rootArgs takes nothing, or the command of a server behind "--".
func rootArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		return nil
	}
	return commandAfterDash(cmd, args)
}

// runRoot runs a server without the name of the command, or says what there is.
func runRoot(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return runServer(cmd, args)
}
