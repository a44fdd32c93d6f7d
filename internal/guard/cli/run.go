// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/record"
	"sentinel/internal/guard/relay"
	"sentinel/internal/guard/stages"
	"sentinel/internal/guard/supervisor"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
)

const (
	maxMessageFlag = "max-message"
	nameFlag       = "name"
	envFlag        = "env"
	presetFlag     = "preset"
	noArgsFlag     = "no-args"
)

// runCommand runs a server behind the guard.
func runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run an MCP server behind the guard, in its place",
		Long: `Run starts COMMAND as the client would, and stands between the two. What passes,
passes byte for byte; what cannot be read in exactly one way is refused with an
answer. The exit status is that of COMMAND, 126 when it cannot be run,
127 when there is none of that name.`,
		Example: "  sentinel-guard run --max-message 16 -- sentinel-mcp",
		Args:    commandAfterDash,
		RunE:    runServer,
	}
	cmd.Flags().Int(maxMessageFlag, relay.DefaultMaxLine>>20, "longest message that passes, in MiB")
	cmd.Flags().String(nameFlag, "", "of the server in rules (default: program or package)")
	cmd.Flags().StringArray(envFlag, nil, "name of a variable that passes under environment: minimal")
	cmd.Flags().String(presetFlag, "", "rules that hold too: "+strings.Join(policy.Presets(), ", "))
	cmd.Flags().Bool(noArgsFlag, false, "written by wrap for unwrap: the entry had no args")
	cmd.Flags().Lookup(noArgsFlag).Hidden = true
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
	stderr, said := fileOf(cmd.ErrOrStderr()), supervisor.NewDiagnostics(cmd.ErrOrStderr())
	defer said.Flush()
	cmd.SetErr(said) // no message waits for who reads stderr
	if privilege.IsRoot() {
		fmt.Fprintln(said, "sentinel-guard: this is root, and so is the server; neither needs that") //nolint:errcheck // there is nobody else to tell
	}
	perTool, err := quotaOf(cmd)
	if err != nil {
		return err
	}
	audit, err := auditOf()
	if err != nil {
		return err
	}
	live, err := policy.Open(policy.Here(), sources(cmd)...)
	if err != nil {
		return &exit{StatusUnjudged, fmt.Errorf("the rules cannot be used, and so nothing is started:\n%w", err)}
	}
	environment, err := variables(cmd, live.Current())
	if err != nil {
		return &exit{StatusUsage, err}
	}
	collectLess()
	ctx := context.WithoutCancel(cmd.Context())
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go follow(watching, live, said)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	name, session := serverName(cmd, args), relay.NewSession()
	log := record.Open(record.Options{
		Dir: record.Dir(), Session: session, Server: name, Command: args,
		BestEffort: func() bool { return !live.Current().RecordRequired() },
		Values:     func() bool { return live.Current().RecordValues() },
		Note:       func(text string) { fmt.Fprintln(said, "sentinel-guard:", text) }, //nolint:errcheck // there is nobody else to tell
		Audit:      audit,
	})
	server := supervisor.Server{
		Command: args, Variables: environment, Stages: stages.All(stages.Settings{Server: name, Rules: live, PerTool: perTool}), MaxLine: most,
		Observer: log, Session: session,
	}
	status := server.Run(ctx, signals, supervisor.Streams{
		In:          cmd.InOrStdin(),
		Out:         writeCloser(cmd.OutOrStdout()),
		Err:         stderr,
		Diagnostics: said,
	})
	log.Close(status)
	return &exit{status: status}
}

// Messages are short-lived and small. At Go's own pace, collecting them is a quarter of the work
// under load; what large ones leave is collected sooner. What is not in use is given back when
// nothing passes.
const (
	collectAt  = 400      // percent of what is in use; Go's own is 100
	memorySoon = 96 << 20 // bytes, from which on that is not waited for
)

func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memorySoon)
	}
}

// sources returns the rules that hold: those of the files, and a preset that is named.
func sources(cmd *cobra.Command) []policy.Source {
	all := policy.Sources()
	if f := cmd.Flags().Lookup(presetFlag); f != nil && f.Value.String() != "" {
		all = append(all, policy.Source{Preset: f.Value.String()})
	}
	return all
}

// variables returns the environment of the server, nil when it is that of the guard. What is taken
// away is named.
func variables(cmd *cobra.Command, rules *policy.Set) ([]string, error) {
	var named []string
	if cmd.Flags().Lookup(envFlag) != nil {
		var err error
		if named, err = cmd.Flags().GetStringArray(envFlag); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(named, func(name string) bool { return strings.Contains(name, "=") }) {
		return nil, fmt.Errorf("--%s takes the name of a variable, not a value", envFlag)
	}
	if !rules.MinimalEnvironment() {
		return nil, nil
	}
	kept, taken := supervisor.Minimal(os.Environ(), named)
	if len(taken) > 0 {
		tellTaken(cmd.ErrOrStderr(), taken)
	}
	return kept, nil
}

func tellTaken(stderr io.Writer, taken []string) {
	const most, longest = 50, 60
	rest := ""
	if n := len(taken) - most; n > 0 {
		taken, rest = taken[:most], fmt.Sprintf(" and %d more", n)
	}
	shown := make([]string, len(taken))
	for i, name := range taken {
		shown[i] = sanitize.Text(name, longest)
	}
	fmt.Fprintf(stderr, "sentinel-guard: environment: minimal keeps from the server %s%s; --%s=NAME lets one pass\n", strings.Join(shown, ", "), rest, envFlag) //nolint:errcheck // there is nobody else to tell
}

// follow reads the rules anew on SIGHUP, and when their files change, until ctx ends.
func follow(ctx context.Context, live *policy.Live, stderr io.Writer) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	go live.Watch(ctx, func(err error) { tellReload(stderr, err) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			tellReload(stderr, live.Reload())
		}
	}
}

// tellReload says on stderr what came of a change of the rules.
func tellReload(stderr io.Writer, err error) {
	text := "the rules were read anew"
	if err != nil {
		text = "the rules in force stay as they are:\n" + err.Error()
	}
	fmt.Fprintln(stderr, "sentinel-guard:", text) //nolint:errcheck // there is nobody else to tell
}

// runners start a package that one of their arguments names.
var runners = []string{"bunx", "npx", "pnpx", "uvx"}

// serverName returns what rules call the server.
func serverName(cmd *cobra.Command, args []string) string {
	if f := cmd.Flags().Lookup(nameFlag); f != nil && f.Value.String() != "" {
		return f.Value.String()
	}
	name := args[0]
	if slices.Contains(runners, filepath.Base(name)) {
		for _, arg := range args[1:] {
			if !strings.HasPrefix(arg, "-") {
				name = arg
				break
			}
		}
	}
	name = filepath.Base(name)
	if at := strings.IndexAny(name, "@="); at > 0 { // a version
		name = name[:at]
	}
	return name
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
