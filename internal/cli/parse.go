// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"sentinel/internal/editdistance"
	"sentinel/internal/fault"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/remote"
)

// Limits of rows, as asked for with --limit.
const (
	defaultRows = -1
	allRows     = 0
	maxRows     = 1_000_000
)

// An invocation is a command line that was understood.
type invocation struct {
	op      ops.Operation
	args    ops.Arguments
	request bool // the arguments are on stdin
	form    form
	verbose bool // pages hold everything, whole
	noPager bool
	rows    int // of each list: defaultRows, allRows, or a number
	config  string
	hosts   []string // where it runs; none is this machine
	dryRun  bool
	yes     bool // do not ask
	force   bool
	given   map[string]string // the flags that were typed, with their values
	context ops.Context       // of a request
	tools   *offer            // of whoever asks
	stderr  io.Writer         // takes questions
	// indicator shows the progress to a person, and reporter to the program that sent a request; nil
	// where nobody looks.
	indicator *progress.Indicator
	reporter  *progress.Reporter
	// verbatim says that a document from elsewhere is printed as it came.
	verbatim bool
	raw      []byte // the request; nil before it is read
	// candidates is the kind of values that are printed for completions; "" is none.
	candidates string
	text       func() string // prints instead of running: help, version, completion
	help       bool          // what is printed is a page for people
}

// brief reports whether an answer leaves out what is well, and what it says
// twice: a program that asks for a tool reads all of it, and a person at a command line what they like.
func (i invocation) brief() bool { return i.request && !i.verbose }

// capped returns the rows of a list that normally has normal; 0 means all.
func (i invocation) capped(normal int) int {
	if i.rows == defaultRows {
		return normal
	}
	return i.rows
}

// parse understands a command line. It returns what it could even with an
// error, so that the error is shown in the form that was asked for.
func parse(args []string) (invocation, error) {
	f := newFlags()
	call := invocation{rows: defaultRows}
	call.form = formIn(args)
	if asksForHelp(args) {
		var err error
		call.text, err = helpOn(args)
		call.help, call.noPager = true, slices.Contains(args, "--no-pager")
		return call, err
	}
	word, args := leadingWord(args)
	err := f.set.Parse(args)
	call.form, call.verbose, call.noPager = f.form(), f.given("verbose"), f.given("no-pager")
	if err != nil {
		call.form = formIn(args)
		return call, f.fault(err)
	}
	if err := f.spellOut(word); err != nil {
		return call, err
	}
	if call.text, err = f.textAction(); err != nil || call.text != nil {
		return call, err
	}
	if f.given("complete") {
		call.candidates, err = f.candidateKind()
		return call, err
	}
	return f.operation(call)
}

// operation completes the call of an operation.
func (f *flags) operation(call invocation) (invocation, error) {
	op, request, err := f.action()
	if err != nil {
		return call, err
	}
	call.op, call.request = op, request
	if err := f.validateModifiers(call); err != nil {
		return call, err
	}
	if err := f.validateForm(call); err != nil {
		return call, err
	}
	if call.hosts, err = f.hosts(call); err != nil {
		return call, err
	}
	rows, err := f.rows()
	if err != nil {
		return call, err
	}
	call.rows = rows
	call.config = f.value("config")
	call.dryRun, call.yes, call.force = f.given("dry-run"), f.given("yes"), f.given("force")
	call.given = f.values()
	call.args, err = call.op.ParseFlags(call.given)
	if err != nil {
		return call, argumentFault(err)
	}
	return call, nil
}

// action finds the one operation that was asked for.
func (f *flags) action() (op ops.Operation, request bool, err error) {
	var chosen []string
	if f.word != "" {
		chosen = append(chosen, f.word)
	}
	for _, o := range ops.Actions() {
		if o.Flag == "" && op.Name == "" {
			op = o
		}
		if o.Flag != "" && f.given(o.Flag) {
			op = o
			chosen = append(chosen, "--"+o.Flag)
		}
	}
	if f.given("request") {
		request = true
		chosen = append(chosen, "--request")
		var known bool
		if op, known = ops.ByName(f.value("request")); !known {
			err = unknownTool(f.value("request"))
		}
	}
	if len(chosen) > 1 {
		return op, request, usage(strings.Join(chosen, " and ") + " are two actions; a run does one.")
	}
	return op, request, err
}

func unknownTool(name string) error {
	var names []string
	for _, o := range ops.All() {
		names = append(names, o.Name)
	}
	return usage(fmt.Sprintf("There is no tool %q.", name)).WithFix("Use one of: " + strings.Join(names, ", "))
}

// validateModifiers refuses modifiers of other actions.
func (f *flags) validateModifiers(call invocation) error {
	if f.given("limit") && (call.request || !goesWith("limit", call.op)) {
		return usage("--limit does not belong to this action.")
	}
	if f.given("limit") && f.given("top-count") {
		return usage("--limit and --top-count both say how many rows; a run takes one.")
	}
	if f.given("check") && (call.request || !goesWith("check", call.op)) {
		return usage("--check belongs to " + strings.Join(checkableWords(), ", ") + ".")
	}
	for _, name := range []string{"dry-run", "yes", "force"} {
		switch {
		case !f.given(name) || !call.request && goesWith(name, call.op):
		case call.request:
			return usage("--" + name + " does not belong to --request; it is for people at a command line.")
		case call.op.Flag == "":
			return usage("--" + name + " needs an action that changes something, such as --kill PID.")
		case name == "yes":
			return usage("--yes does not belong to this action, which does not ask.")
		case name == "force" && call.op.Recorded:
			return usage("--force does not belong to this action, which has no rule that can be overridden.")
		default:
			return usage("--" + name + " does not belong to this action, which changes nothing.")
		}
	}
	return f.validateFields(call)
}

// hosts returns where the action is to run.
func (f *flags) hosts(call invocation) ([]string, error) {
	if !f.given("host") {
		return nil, nil
	}
	names := strings.Split(f.value("host"), ",")
	if err := remote.CheckNames(names); err != nil {
		return nil, usage("--host: " + err.Error() + ".")
	}
	if !goesWith("host", call.op) {
		there := "ssh " + names[0] + " sentinel --"
		if call.op.Privilege == ops.NeedsRoot {
			there = "ssh -t " + names[0] + " sudo sentinel --" // a terminal, at which sudo can ask
		}
		return nil, usage("--host does not belong to this action, which is of this machine alone.").WithFix("Run it there: " + there + call.op.Flag)
	}
	if len(names) > 1 && !call.op.OfFleet() {
		return nil, usage("--host is there twice; --fleet-health alone asks several machines.")
	}
	for _, name := range []string{"limit", "force", "config"} {
		if f.given(name) {
			return nil, usage("--" + name + " does not go together with --host: programs cannot send it.").
				WithFix("Leave it out, or run it there: ssh " + names[0] + " sentinel …")
		}
	}
	return names, nil
}

// goesWith says whether an option belongs to an action.
func goesWith(option string, op ops.Operation) bool {
	switch option {
	case "limit":
		return op.Lists
	case "dry-run":
		return op.Writes()
	case "yes":
		return op.Asks
	case "force":
		return op.Writes() && !op.Recorded || op.Name == "scan_ports"
	case "check":
		return isCheckable(op)
	case "host":
		return op.Toolset != ""
	default:
		return true
	}
}

// validateFields refuses the flags of fields that the action does not have.
func (f *flags) validateFields(call invocation) error {
	owners := map[string][]string{}
	for _, o := range ops.Actions() {
		for _, field := range o.Fields {
			owners[field.Flag] = append(owners[field.Flag], "--"+o.Flag)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(owners)) {
		switch {
		case !f.given(flag) || flag == call.op.Flag || ops.IsOption(flag):
		case call.request:
			return usage("--" + flag + " does not belong to --request, which takes its arguments from stdin.")
		case !slices.Contains(owners[flag], "--"+call.op.Flag):
			return usage("--" + flag + " belongs to " + strings.Join(owners[flag], ", ") + ".")
		}
	}
	return nil
}

// formIn is the form that is asked for anywhere on a command line that is not understood.
func formIn(args []string) form {
	asked := usualForm
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if name == "--output" && !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch {
		case arg == "--":
			return asked
		case arg == "--json" || name == "--output" && form(value) == jsonForm:
			return jsonForm
		case name == "--output" && form(value) == textForm:
			asked = textForm
		}
	}
	return asked
}

// form is the form that was asked for. One that there is not is refused in JSON.
func (f *flags) form() form {
	switch asked := form(f.value("output")); {
	case f.given("json"):
		return jsonForm
	case !f.given("output"):
		return usualForm
	case asked == textForm || asked == metricsForm:
		return asked
	default:
		return jsonForm
	}
}

// validateForm checks --output.
func (f *flags) validateForm(call invocation) error {
	asked := form(f.value("output"))
	switch {
	case !f.given("output") || asked == jsonForm:
		return nil
	case asked != textForm && asked != metricsForm:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("--output must be json, text or prometheus, not %q.", asked)).WithFix("Use --output text for a page, --output prometheus for metrics, or --json.")
	case f.given("json"):
		return usage("--json and --output " + string(asked) + " are two forms; an answer has one.")
	case asked == metricsForm && (call.request || !hasMetrics(call.op)):
		return usage("--output prometheus belongs to --check-updates, --security-audit, --verify-journal, and to health, which sentinel shows without an action.")
	}
	return nil
}

// candidateKind reads --complete.
func (f *flags) candidateKind() (string, error) {
	kind := f.value("complete")
	if !slices.Contains(ops.Candidates(), kind) {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("--complete must be one of %s, not %q.", strings.Join(ops.Candidates(), ", "), kind)).WithFix("Use --complete " + ops.Candidates()[0] + ".")
	}
	return kind, nil
}

// rows reads --limit.
func (f *flags) rows() (int, error) {
	text := f.value("limit")
	switch {
	case !f.given("limit"):
		return defaultRows, nil
	case text == "all":
		return allRows, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || strconv.Itoa(n) != text || n < 1 || n > maxRows {
		return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("--limit must be all or a whole number from 1 to %d, not %q.", maxRows, text)).
			WithFix("Use --limit all, or a number such as --limit 200.")
	}
	return n, nil
}

// fault turns an error of pflag into a sentence.
func (f *flags) fault(err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			return usage("There is no flag -" + name + ".").WithFix("Flags have two dashes, as in --" + letters + ". Run: sentinel --help")
		}
		return unknownFlag(name, f.names())
	case errors.As(err, &missing):
		return usage("--" + missing.GetSpecifiedName() + " needs a value.")
	case errors.As(err, &invalid):
		return usage("--" + invalid.GetFlag().Name + " " + invalid.Unwrap().Error() + ".")
	default:
		return usage("The command line is not understood: " + err.Error() + ".")
	}
}

// unknownFlag names the flags that may have been meant. Words of actions count
// too: whoever types --audit wants --security-audit.
func unknownFlag(name string, names []string) error {
	e := usage("There is no flag --" + name + ".")
	meant := map[string]string{}
	for _, known := range names {
		meant[known] = "--" + known
	}
	for _, o := range ops.Actions() {
		if o.Flag == "" {
			names, meant[o.Word()] = append(names, o.Word()), "sentinel "+o.Word()
		} else if o.Alias != "" {
			names, meant[o.Alias] = append(names, o.Alias), "--"+o.Flag
		}
	}
	var likely []string
	for _, known := range editdistance.Closest(name, names) {
		if !slices.Contains(likely, meant[known]) {
			likely = append(likely, meant[known])
		}
	}
	if len(likely) == 0 {
		return e
	}
	return e.WithFix("Did you mean " + strings.Join(likely, " or ") + "? All flags: sentinel --help")
}

func usage(message string) *fault.Error { return fault.New(fault.Usage, message) }
