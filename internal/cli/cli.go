// SPDX-License-Identifier: Apache-2.0

// Package cli is the sentinel program: it turns a command line, or a request on
// stdin, into one operation, runs it and prints one document.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/deadline"
	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/identity"
	"sentinel/internal/journal"
	"sentinel/internal/lockfile"
	"sentinel/internal/ops"
	"sentinel/internal/peerclose"
	"sentinel/internal/privilege"
	"sentinel/internal/progress"
	"sentinel/internal/trust"
	"sentinel/internal/version"
)

// Run executes sentinel with args, which exclude the program's name, and
// returns its exit status. stdout receives exactly one document, JSON or the view for
// people; everything else goes to stderr. When ctx ends the answer is CANCELLED.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := Program{
		Open:       func() (*host.Host, error) { return local.Open("/") },
		ConfigPath: config.DefaultPath,
		StateDir:   identity.DefaultDir,
		Journal:    journal.New(journal.DefaultDir, journal.DefaultHeadDir),
		Root:       privilege.IsRoot(),
		UID:        privilege.RealUID(),
		Getenv:     os.Getenv,
		Environ:    os.Environ,
		Own:        ownBinary,
		Trusted:    trust.RootOnly.File,
		Groups:     privilege.Groups(),
		Prefer:     local.Prefer,
		Admit:      local.Admit,
	}
	return p.Run(ctx, args, stdin, stdout, stderr)
}

// A Program is sentinel with the parts that tests replace.
type Program struct {
	Open       func() (*host.Host, error)
	ConfigPath string // read when it exists
	StateDir   string
	Journal    *journal.Journal
	Root       bool                // whether this run may change things and keep state
	UID        int                 // of who runs it
	Getenv     func(string) string // of the environment; nil is an empty one
	Environ    func() []string     // the environment of a pager; nil is an empty one
	// Own returns the absolute path of this program; nil where it is found by
	// its name.
	Own func() (string, error)
	// Trusted returns why somebody other than root could change what is at a path; with nil, sudo is
	// never used.
	Trusted func(path string) error
	Groups  []int // of this process (getgroups(2))
	// Prefer makes this process one for something short: with few threads, and root's with a better place
	// among all others, which what it starts has not. nil does not.
	Prefer func(root bool)
	// Admit takes a place among the runs of a user behind sudo, and flush is what its answer ends
	// with; see [local.Admit]. nil has no bound.
	Admit func(uid int) (place int, flush func() error, err error)
}

// Run is [Run] for p.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	call, err := parse(args)
	call.stderr, call.indicator, call.tools = stderr, p.indicator(call, stderr), &offer{}
	if call.request {
		call.reporter = progress.NewReporter(stderr)
	}
	if call.request && p.overSSH() { // nobody there can send a signal; whoever asked has gone when nobody reads
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer peerclose.Watch(stdout, cancel)()
	}
	out := p.newOutput(ctx, call, stdout, stderr)
	if elevation.IsRequest(args) {
		out.readWithin = requesterPatience
	}
	if asksForCheck(args) {
		out.check(call)
	}
	call.verbatim = !out.checking && !out.forPeople() && out.form != metricsForm
	flush, refused := p.admit()
	defer func() { status = out.arrives(flush, status) }()
	if refused != nil {
		out.readWithin = lastWord // whoever starts many more than they may has them all stay as long
		err = refused
	}
	if err != nil {
		return out.fail(cmp.Or(call.op.Action, "usage"), p.worded(call, err))
	}
	switch {
	case call.help:
		return out.help(call.text())
	case call.text != nil:
		return out.text(call.text())
	case call.candidates != "":
		return out.text(p.candidates(ctx, call.candidates))
	}
	doc, err := p.execute(ctx, call, stdin)
	if err != nil {
		err = p.worded(call, err)
	}
	if a, advises := doc.(advising); advises && err == nil && p.onOffer(call) != nil {
		on := p.onOffer(call)
		doc = a.advise(func(text string) string { return ops.AsCalls(text, on) })
	}
	if f, ok := doc.(fitted); ok && err == nil {
		f.asked(call.args)
	}
	serviceLog(stderr, p.Getenv, doc, err)
	if err != nil {
		return out.fail(call.op.Action, err)
	}
	if r, ok := doc.(relayed); ok {
		return r.print(out)
	}
	return out.document(doc)
}

// command is the command that was typed, as it can be pasted.
func (p Program) command(call invocation) string {
	call.given = maps.Clone(call.given)
	delete(call.given, "no-pager")
	if !call.op.OfFleet() { // the page names the host in all its commands
		delete(call.given, "host")
	}
	command := strings.TrimSpace("sentinel " + call.typed())
	if p.Root && p.env("SUDO_UID") != "" {
		command = "sudo " + command
	}
	return p.named(command)
}

// env returns a variable of the environment.
func (p Program) env(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

func (p Program) environ() []string {
	if p.Environ == nil {
		return nil
	}
	return p.Environ()
}

// execute answers within the deadline of the operation, even when it is stuck in a
// read that cannot be interrupted, from a pipe without a writer or from a dead
// disk: the process ends right after. A change that has begun is not abandoned.
func (p Program) execute(ctx context.Context, call invocation, stdin io.Reader) (document, error) {
	ctx = lockfile.WithTool(ctx, p.holding(call.op))
	ctx = progress.With(ctx, func(percent int, words string) {
		call.reporter.Say(percent, words)
		call.indicator.Set(percent, words)
	})
	if err := pause(ctx, call); err != nil {
		return nil, err
	}
	away := len(call.hosts) > 0 && !call.op.OfFleet()
	if call.request && (away || p.elevates(call)) {
		raw, err := deadline.Call(ctx, requestLimit, func(context.Context) ([]byte, error) { return readText(stdin) })
		if err != nil {
			return nil, err
		}
		call.raw = raw
	}
	if away {
		return p.elsewhere(ctx, call, stdin)
	}
	if doc, done, err := p.elevate(ctx, call, stdin); done {
		return doc, err
	}
	if call.op.Name == "record" {
		spare()
	}
	ready, err := indicated(call, func() (prepared, error) {
		return deadline.Call(ctx, call.op.Deadline, func(ctx context.Context) (prepared, error) { return p.prepare(ctx, call, stdin) })
	})
	if err != nil || ready.answer != nil {
		return ready.answer, err
	}
	if err := ask(ctx, call, ready.change, stdin); err != nil {
		return nil, err
	}
	return indicated(call, func() (document, error) { return ready.session.commit(ctx, ready.call, ready.change) })
}

// holding is what a lock of this run says it is held for.
func (p Program) holding(op ops.Operation) string {
	if who := p.whoAsks(ops.Context{}); limited(who) {
		return fmt.Sprintf("%s for user %d", op.Name, *who.SudoUID)
	}
	return op.Name
}

// indicated runs f while whoever waits for it is told that it goes on.
func indicated[T any](call invocation, f func() (T, error)) (T, error) {
	defer call.indicator.Start()()
	defer call.reporter.Start()()
	return f()
}

// indicator returns what shows a person that the run goes on: on a terminal alone, as other programs
// do, because a log of what is not finished yet helps nobody.
func (p Program) indicator(call invocation, stderr io.Writer) *progress.Indicator {
	if call.request || call.text != nil || !screenOf(stderr, p.env).terminal || p.env("TERM") == "dumb" {
		return nil
	}
	return progress.NewIndicator(stderr, call.op.Title)
}

// pause waits as long as --after says, which does not count towards the deadline.
func pause(ctx context.Context, call invocation) error {
	select {
	case <-time.After(time.Duration(call.args.Int("after")) * time.Second):
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A prepared run has its answer, or a change to make.
type prepared struct {
	answer  document
	session session
	call    invocation
	change  change
}

func (p Program) prepare(ctx context.Context, call invocation, stdin io.Reader) (ready prepared, err error) {
	if call.request && call.raw == nil {
		if call.raw, err = readText(stdin); err != nil {
			return prepared{}, err
		}
	}
	if p.Prefer != nil && call.op.Preferred { // not before: a run that waits for its request has nothing to do
		p.Prefer(p.Root)
	}
	if call.request {
		if call, err = readRequest(call); err != nil {
			return prepared{}, err
		}
	}
	ready.call = call
	if ready.session, err = p.session(call); err != nil {
		return prepared{}, err
	}
	code := operations()[call.op.Name]
	if code.form != nil { // whoever may not do it hears of a wrong argument, too
		if err := code.form(ready.session, call); err != nil {
			return prepared{}, err
		}
	}
	if err := ready.session.permit(ctx, call); err != nil {
		return prepared{}, err
	}
	switch {
	case code.plan != nil:
		ready.change, ready.answer, err = ready.session.plan(ctx, call, code.plan)
	case code.run != nil:
		ready.answer, err = code.run(ctx, ready.session, call)
	default:
		err = fmt.Errorf("operation %s has no code", call.op.Name)
	}
	return ready, err
}

// A session is what one run works with.
type session struct {
	host     *host.Host
	config   config.Config
	invalid  error // why the configuration is the default one
	stateDir string
	secrets  string // directory with the files of endpoints
	journal  *journal.Journal
	who      journal.Who
	root     bool                   // whether this run may keep state
	own      func() (string, error) // path of this program
	getenv   func(string) string    // nil is an empty environment
	trusted  func(string) error     // why somebody other than root could change a path
	groups   []int                  // of this process
	environ  []string
	// named makes the commands in a text such that they can be pasted.
	named func(string) string
}

func (p Program) session(call invocation) (session, error) {
	who := p.whoAsks(call.context)
	if call.config != "" && limited(who) {
		return session{}, fault.New(fault.DisabledByPolicy, named(who)+" may not choose another configuration through sudo.").WithFix("Leave --config out.")
	}
	path, named := p.ConfigPath, call.config != ""
	if named {
		path = call.config
	}
	c, err := config.Load(path, named)
	invalid := err
	switch {
	case err == nil, call.op.Name == "doctor": // which says what is wrong with it
	case call.op.Name == "restore_blocklist": // a trial that keeps its owner out ends all the same
		c = config.Default()
	default:
		return session{}, err
	}
	h, err := p.Open()
	if errors.Is(err, errors.ErrUnsupported) {
		return session{}, fault.New(fault.Unsupported, "sentinel does not run on "+host.BuiltFor+" yet.")
	}
	if err != nil {
		return session{}, err
	}
	return session{host: h, config: c, invalid: invalid, stateDir: p.StateDir, secrets: filepath.Join(filepath.Dir(p.ConfigPath), "secrets"), journal: p.Journal, who: who, root: p.Root, own: p.Own, getenv: p.Getenv, named: p.named, trusted: p.trusted, groups: p.Groups, environ: p.environ()}, nil
}

func (p Program) trusted(path string) error {
	if p.Trusted == nil {
		return nil
	}
	return p.Trusted(path)
}

// readRequest replaces the arguments of call by those of the JSON object in its
// text.
func readRequest(call invocation) (invocation, error) {
	request, err := call.op.ParseRequest(call.raw)
	if err != nil {
		return call, argumentFault(err)
	}
	call.args, call.context = request.Arguments, request.Context
	call.tools.take(request.Tools)
	call.dryRun = call.args.Bool("dry_run") || call.context.Asking
	call.verbose = request.Arguments.Bool("verbose")
	return call, nil
}

// requestLimit bounds how long a request from elsewhere may take to arrive.
const requestLimit = 10 * time.Second

// readText reads a request from stdin.
func readText(stdin io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(stdin, ops.MaxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if len(raw) > ops.MaxRequest {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("The request is larger than %d KiB.", ops.MaxRequest>>10))
	}
	return raw, nil
}

func argumentFault(err error) error {
	if wrong, ok := errors.AsType[*ops.ArgumentError](err); ok {
		return fault.New(fault.Code(cmp.Or(wrong.Code, string(fault.InvalidArgument))), wrong.Message).WithFix(wrong.Fix)
	}
	return err
}

func versionText() string {
	return fmt.Sprintf("sentinel %s (%s/%s, %s)\n", version.Number, host.BuiltFor, runtime.GOARCH, runtime.Version())
}
