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

	"sentinel/internal/guard/limits"
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
	stderr, said := fileOf(cmd.ErrOrStderr()), supervisor.NewDiagnostics(cmd.ErrOrStderr())
	defer said.Flush()
	cmd.SetErr(said) // no message waits for who reads stderr
	if privilege.IsRoot() {
		tell(said, "this is root, and so is the server; neither needs that")
	}
	g, err := newGuarding(cmd, args)
	if err != nil {
		return err
	}
	collectLess()
	return &exit{status: g.run(context.WithoutCancel(cmd.Context()), supervisor.Streams{
		In:          cmd.InOrStdin(),
		Out:         writeCloser(cmd.OutOrStdout()),
		Err:         stderr,
		Diagnostics: said,
	})}
}

// tell says a line of the guard's own.
func tell(stderr io.Writer, text string) {
	fmt.Fprintln(stderr, "sentinel-guard:", text) //nolint:errcheck // there is nobody else to tell
}

// A guarding is how a server runs behind the guard.
type guarding struct {
	name        string // of the server in rules
	command     []string
	environment []string // nil for that of the guard
	maxLine     int      // bytes
	rules       *policy.Live
	perTool     limits.Quota
	audit       *record.Audit // nil for none
}

func newGuarding(cmd *cobra.Command, args []string) (g guarding, err error) {
	g.name, g.command = serverName(cmd, args), args
	if g.maxLine, err = maxMessage(cmd); err != nil {
		return g, &exit{StatusUsage, err}
	}
	if g.perTool, err = quotaOf(cmd); err != nil {
		return g, err
	}
	if g.audit, err = auditOf(); err != nil {
		return g, err
	}
	if g.rules, err = policy.Open(policy.Here(), sources(cmd)...); err != nil {
		return g, &exit{StatusUnjudged, fmt.Errorf("the rules cannot be used, and so nothing is started:\n%w", err)}
	}
	if g.environment, err = variables(cmd, g.rules.Current()); err != nil {
		return g, &exit{StatusUsage, err}
	}
	return g, nil
}

// run runs the server until it ends, and returns the exit status for it.
func (g guarding) run(ctx context.Context, streams supervisor.Streams) int {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go follow(watching, g.rules, streams.Diagnostics)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	session := relay.NewSession()
	log := record.Open(record.Options{
		Dir: record.Dir(), Session: session, Server: g.name, Command: g.command,
		BestEffort: func() bool { return !g.rules.Current().RecordRequired() },
		Values:     func() bool { return g.rules.Current().RecordValues() },
		Note:       func(text string) { tell(streams.Diagnostics, text) },
		Audit:      g.audit,
	})
	server := supervisor.Server{
		Command: g.command, Variables: g.environment, MaxLine: g.maxLine,
		Stages:   stages.All(stages.Settings{Server: g.name, Rules: g.rules, PerTool: g.perTool}),
		Observer: log, Session: session,
	}
	status := server.Run(ctx, signals, streams)
	log.Close(status)
	return status
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
	tell(stderr, fmt.Sprintf("environment: minimal keeps from the server %s%s; --%s=NAME lets one pass", strings.Join(shown, ", "), rest, envFlag))
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
	tell(stderr, text)
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
