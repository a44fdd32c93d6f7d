// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stages"
	"sentinel/internal/guard/supervisor"
	"sentinel/internal/privilege"
)

const maxMessageFlag = "max-message"

// runCommand runs a server behind the guard.
func runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an MCP server behind the guard, in its place in a client's configuration",
		Long: `Run starts COMMAND as the client would, and stands between the two. What passes, passes byte for
byte; what cannot be read in exactly one way is refused with an answer. The exit status is that of
COMMAND, 126 when it cannot be run, 127 when there is none of that name.`,
		Example: "  sentinel-guard -- npx -y @modelcontextprotocol/server-everything\n  sentinel-guard run --max-message 16 -- sentinel-mcp",
		Args:    commandAfterDash,
		RunE:    runServer,
	}
	cmd.Flags().Int(maxMessageFlag, relay.DefaultMaxLine>>20, "longest message in MiB; a longer one is skipped and answered")
	return cmd
}

// commandAfterDash takes arguments behind "--" alone, so that no flag of the server is taken for
// one of the guard.
func commandAfterDash(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash > 0 || dash < 0 && len(args) > 0:
		return fmt.Errorf("unknown command %q; the command of a server stands behind --", args[0])
	case len(args) == 0:
		return errors.New("which server? sentinel-guard run -- COMMAND [ARG...]")
	}
	return nil
}

func runServer(cmd *cobra.Command, args []string) error {
	most, err := maxMessage(cmd)
	if err != nil {
		return &exit{StatusUsage, err}
	}
	if privilege.IsRoot() {
		fmt.Fprintln(cmd.ErrOrStderr(), "sentinel-guard: this is root, and so is the server; neither needs that") //nolint:errcheck // there is nobody else to tell
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	server := supervisor.Server{Command: args, Stages: stages.All(), MaxLine: most}
	status := server.Run(context.WithoutCancel(cmd.Context()), signals, supervisor.Streams{
		In:          cmd.InOrStdin(),
		Out:         writeCloser(cmd.OutOrStdout()),
		Err:         fileOf(cmd.ErrOrStderr()),
		Diagnostics: cmd.ErrOrStderr(),
	})
	return &exit{status: status}
}

func maxMessage(cmd *cobra.Command) (int, error) {
	const largest = 1 << 10
	if cmd.Flags().Lookup(maxMessageFlag) == nil {
		return relay.DefaultMaxLine, nil
	}
	most, err := cmd.Flags().GetInt(maxMessageFlag)
	if err == nil && (most < 1 || most > largest) {
		err = fmt.Errorf("--%s must be from 1 to %d", maxMessageFlag, largest)
	}
	return most << 20, err
}

// fileOf returns the file behind w, which the server then has itself; nil when it is none.
func fileOf(w io.Writer) *os.File {
	file, _ := w.(*os.File)
	return file
}

func writeCloser(w io.Writer) io.WriteCloser {
	if c, ok := w.(io.WriteCloser); ok {
		return c
	}
	return unclosed{w}
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
