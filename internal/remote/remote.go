// SPDX-License-Identifier: Apache-2.0

// Package remote runs tools of sentinel on other machines. OpenSSH carries them: there is no agent
// and no port but that of sshd.
//
// The client is that of this machine, with the keys, the configuration and the known hosts of the
// user who asks; nobody is asked for a password, and no host key is accepted. The command on the
// other machine is made of literal words, and the arguments of the tool travel over its standard
// input, so that no shell on the way reads them. What comes back is the word of a machine that may
// be in other hands: it is bounded, it must be one document, and its texts are made safe to show.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"sentinel/internal/elevation"
	"sentinel/internal/fault"
	"sentinel/internal/installed"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
)

// Bounds of a run on another machine.
const (
	connectTimeout = 10 * time.Second
	// extra is what a run may take beyond the limit of its operation, which the other machine keeps:
	// to connect, and to finish or take back a change.
	extra     = connectTimeout + 16*time.Second
	waitDelay = time.Second
	maxAnswer = 1 << 20  // bytes
	maxUsual  = 32 << 10 // of one that was not asked for in full, which has at most 20,000
	maxStderr = 64 << 10
)

// A Carrier runs tools on other machines. It is safe for concurrent use.
type Carrier struct {
	programs sysexec.Runner
	ssh      string   // absolute path
	env      []string // of ssh
	sockets  string   // directory of the connections that are kept open; "" keeps none
}

// New returns the carrier for a user with an environment. The error is UNAVAILABLE where there is no
// OpenSSH client.
func New(programs sysexec.Runner, environ []string, uid int) (*Carrier, error) {
	ssh, err := sysexec.Find("ssh")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "This machine has no ssh to reach others with", err).
			WithFix("Install the client of OpenSSH, as with: apt install openssh-client")
	}
	return &Carrier{programs: programs, ssh: ssh, env: Environment(environ), sockets: socketDir(environ, uid)}, nil
}

// inherited are the variables that ssh and what it starts by the user's configuration go by: where
// the agent is, whose tickets to use, where programs are. No display is among them, at which a
// program could ask for a password.
var inherited = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "KRB5CCNAME"}

// Environment returns what ssh is given of an environment, and a sentinel that is to run it.
func Environment(environ []string) []string {
	kept := []string{"LC_ALL=C", "TZ=UTC0"}
	for _, name := range inherited {
		if value := lookup(environ, name); value != "" {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// lookup returns the value of a variable.
func lookup(environ []string, name string) string {
	for _, pair := range environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// Run runs the tool of op with a request on the host. onStderr takes the lines that the other side
// writes meanwhile. The error has a code that says what is wrong with the host; a tool that failed is
// an Answer.
func (c *Carrier) Run(ctx context.Context, host string, op ops.Operation, request []byte, onStderr func(line string)) (Answer, error) {
	if err := CheckName(host); err != nil {
		return Answer{}, fault.Wrap(fault.InvalidArgument, "The host cannot be named to ssh", err).
			WithFix("Send a name as ssh takes it: an alias of ~/.ssh/config, a host name or an address, with user@ before it where needed.")
	}
	ctx, cancel := context.WithTimeout(ctx, op.Deadline+extra)
	defer cancel()
	r, err := c.first(ctx, host, elevation.Request(op.Name), request, onStderr, most(op, request))
	a, err := c.answer(ctx, host, op, request, r, err)
	return a, About(host, err)
}

// toolsOf are the tools that whoever sends a request has on offer; nil for a person, who has commands.
func toolsOf(op ops.Operation, request []byte) []string {
	r, err := op.ParseRequest(request)
	if err != nil {
		return nil
	}
	return r.Tools
}

// most is how long the answer to a request may be, in bytes: a machine that is in other hands must not fill
// the memory of a model with what it was not asked for.
func most(op ops.Operation, request []byte) int {
	if r, err := op.ParseRequest(request); err == nil && !op.Lengthened(r.Arguments) {
		return maxUsual
	}
	return maxAnswer
}

// About names the host in the document of a failure, as an answer from there has it.
func About(host string, err error) error {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || host == "" || e.With != nil {
		return err
	}
	var object struct {
		Context struct {
			Host string `json:"host"`
		} `json:"_context"`
	}
	object.Context.Host = host
	return e.WithObject(object)
}

// Version returns the version of sentinel on the host, which takes neither root nor much time.
func (c *Carrier) Version(ctx context.Context, host string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	r, err := c.first(ctx, host, []string{"--version"}, nil, nil, maxUsual)
	_, last := cutLast(bytes.TrimSpace(r.Stdout))
	words := strings.Fields(string(last))
	if err == nil && r.Exit == 0 && len(words) > 1 && words[0] == installed.Sentinel && isVersion.Get().MatchString(words[1]) {
		return words[1], nil
	}
	return "", c.failure(ctx, host, fault.New(fault.Timeout, host+" does not answer in time."), r, err)
}

// first runs the first sentinel that there is on the host, for an answer of at most so many bytes.
func (c *Carrier) first(ctx context.Context, host string, args []string, stdin []byte, onStderr func(string), most int) (reply, error) {
	for _, program := range programs() {
		r, err := c.run(ctx, c.command(host, append([]string{program}, args...), stdin, onStderr), most)
		if err != nil || !noProgram(r) {
			return r, err // where there is none, nothing ran: no change is made twice
		}
	}
	return reply{}, fault.New(fault.SentinelNotFound, "There is no sentinel on "+host+", where its user's shell looks for programs.").
		WithFix("Install sentinel on " + host + ", or put the folder that it is in into the PATH of commands that ssh runs there.")
}

// errTooMuch reports that more was printed than any document holds.
var errTooMuch = errors.New("printed too much")

// A reply is what came of a run of ssh.
type reply struct {
	sysexec.Result        // its stderr is that of what ran on the other machine, or on the way there
	said           []byte // by ssh itself
}

// run runs ssh. Its own messages go to a file (-E): what the other machine writes comes out of its stderr,
// where it could speak as ssh.
func (c *Carrier) run(ctx context.Context, command sysexec.Command, most int) (reply, error) {
	log, err := os.CreateTemp("", "sentinel-ssh-")
	if err != nil {
		return reply{}, err
	}
	defer os.Remove(log.Name()) //nolint:errcheck // what is left is empty, or ssh's own words
	defer log.Close()           //nolint:errcheck // only read from
	command.Args = append([]string{"-E", log.Name()}, command.Args...)
	r, err := c.bounded(ctx, command, most)
	if err != nil {
		return reply{}, err // what was printed may still be on its way
	}
	said, err := io.ReadAll(io.LimitReader(log, maxStderr))
	return reply{r, said}, err
}

// bounded runs ssh, and ends it where the other side prints without end.
func (c *Carrier) bounded(ctx context.Context, command sysexec.Command, most int) (sysexec.Result, error) {
	var stdout []byte
	over := false
	command.OnStdout = func(piece []byte) bool {
		over = len(stdout)+len(piece) > most
		if !over {
			stdout = append(stdout, piece...)
		}
		return !over
	}
	r, err := c.programs.Run(ctx, command)
	if ctx.Err() == nil && err == nil && over {
		err = errTooMuch
	}
	r.Stdout = stdout
	return r, err
}

// programs are the names of sentinel in the order in which they are tried: sshd of macOS looks in
// the folders of the system alone.
func programs() []string {
	names := slices.DeleteFunc(installed.Paths(installed.Sentinel), func(path string) bool { return strings.HasPrefix(path, installed.Package+"/") })
	return append([]string{installed.Sentinel}, names...)
}

// Exit statuses of a command over ssh.
const (
	exitNotExecutable = 126 // sh(1)
	exitNotFound      = 127
	exitSSH           = 255 // ssh(1): an error occurred
)

// noProgram reports whether the shell of the other machine did not find the program. csh says so
// with status 1.
func noProgram(r reply) bool {
	silent := len(strings.TrimSpace(string(r.Stdout))) == 0
	return silent && (r.Exit == exitNotFound || r.Exit == exitNotExecutable || r.Exit == 1 && strings.Contains(string(r.Stderr), "ommand not found"))
}

// command is the run of ssh. All words but the host are literal.
func (c *Carrier) command(host string, words []string, stdin []byte, onStderr func(string)) sysexec.Command {
	return sysexec.Command{
		Path: c.ssh, Args: append(append(c.options(host), "--", host), words...), Stdin: stdin, Env: c.env, NewSession: true,
		MaxOutput: maxStderr, EndOver: true, WaitDelay: waitDelay, OnStderrLine: onStderr,
	}
}

// options are those of ssh (ssh_config(5)). They go before what the user's configuration has, which
// is good for the rest: addresses, ports, users, keys, jump hosts.
func (c *Carrier) options(host string) []string {
	options := []string{"-T", "-k"} // no GSSAPIDelegateCredentials: as an option it is a complaint where ssh has no GSSAPI
	for _, o := range []string{
		"BatchMode=yes", "StrictHostKeyChecking=yes", "VerifyHostKeyDNS=no", "NoHostAuthenticationForLocalhost=no", "UpdateHostKeys=no",
		"ConnectTimeout=10", "ConnectionAttempts=1", "ServerAliveInterval=5", "ServerAliveCountMax=3",
		"ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "Tunnel=no", "PermitLocalCommand=no", "RemoteCommand=none",
		"LogLevel=ERROR",
	} {
		options = append(options, "-o", o)
	}
	if c.sockets == "" {
		return append(options, "-o", "ControlMaster=no", "-o", "ControlPath=none")
	}
	// %C stands for the address, port and user, so that a changed configuration is another connection;
	// with two names for them each has its own, which has been verified by that name.
	sum := sha256.Sum256([]byte(host))
	path := c.sockets + "/" + hex.EncodeToString(sum[:nameBytes]) + "%C"
	return append(options, "-o", "ControlMaster=auto", "-o", "ControlPath="+path, "-o", "ControlPersist=300")
}

// An Answer is the document of a tool on another machine.
type Answer struct {
	Document json.RawMessage // with the host that was asked, under "_context"
	Success  bool
	Exit     int // status of sentinel there
}

// answer reads what came back.
func (c *Carrier) answer(ctx context.Context, host string, op ops.Operation, request []byte, r reply, err error) (Answer, error) {
	if d, ok := parse(r.Stdout); ok && r.Exit != exitSSH {
		a, wrong := d.answer(host, op, toolsOf(op, request), r.Exit)
		if len(a.Document) <= most(op, request) {
			return a, wrong
		}
		err = errTooMuch // what makes texts safe to show makes them longer
	}
	if scarce := elevation.ExhaustedOn(host, r.Result); scarce != nil && err == nil && ctx.Err() == nil && !op.Changes() { // of a change it is not known how far it came
		return Answer{}, scarce
	}
	e := c.failure(ctx, host, ended(ctx, host, op), r, err)
	if op.Changes() && mayHaveBegun(e, r) {
		e = e.WithFix(unfinished(host))
	}
	return Answer{}, e
}

// mayHaveBegun reports whether the run of an error may have changed something: ssh said nothing that it says
// before there is a session.
func mayHaveBegun(e *fault.Error, r reply) bool {
	if r.Exit != exitSSH {
		return e.Code == fault.BadOutput
	}
	reason, _ := complaintOf(r.said)
	return !reason.early
}

// unfinished is the fix for a change of which it is not known what became of it.
func unfinished(host string) string {
	return "sentinel on " + host + " finishes or takes back what it has begun. Before asking again, see what became of it in its history: sentinel --host " + host + " --history"
}

// failure returns the error of a run that gave no answer; over is that of one whose ctx has ended.
func (c *Carrier) failure(ctx context.Context, host string, over *fault.Error, r reply, err error) *fault.Error {
	known, coded := errors.AsType[*fault.Error](err)
	switch {
	case coded:
		return known
	case ctx.Err() != nil:
		return over
	case errors.Is(err, errTooMuch), errors.Is(err, sysexec.ErrOutputTooLarge):
		return fault.New(fault.BadOutput, host+" sent more than any document holds.").WithFix("Look there yourself, with: ssh " + host)
	case err != nil:
		return fault.Wrap(fault.Unavailable, "ssh cannot be run here", err)
	case r.Exit == exitSSH:
		return c.refused(ctx, host, r)
	default:
		return noDocument(host, r)
	}
}

// ended returns the error of a run that did not answer in time, or was cancelled.
func ended(ctx context.Context, host string, op ops.Operation) *fault.Error {
	what := " before " + host + " had answered."
	e := fault.New(fault.Cancelled, op.Name+" was cancelled"+what)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e = fault.New(fault.Timeout, op.Name+" ran out of time"+what).WithFix("Try again; if it happens again, look with: ssh " + host + " true")
	}
	if op.Changes() {
		return e.WithFix(unfinished(host))
	}
	return e
}

// noDocument returns the error of a run that printed something else than a document.
func noDocument(host string, r reply) *fault.Error {
	said := "nothing"
	if line := cmp.Or(lastLine(r.Stdout), lastLine(r.Stderr)); line != "" {
		said = quoted(line, host)
	}
	return fault.New(fault.BadOutput, "What came from "+host+" is no answer of sentinel: "+said).
		WithFix("Where a start file of the shell there prints something for every command (ssh " + host + " true shows it), let it print for terminals alone. Otherwise install the same version of sentinel there.")
}
