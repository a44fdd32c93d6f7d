// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/policy"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	"sentinel/internal/trust"
)

// width is that of the terminal that answers are written for.
const width = 80

const maxCallLine = 64 << 20

// policyCommand judges calls by rules, and looks after their files.
func policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "The rules: begin with a preset, check, test, explain and show them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Bool("json", false, "print JSON")
	cmd.AddCommand(policyInit(), policyCheck(), policyTest(), policyExplain(), policyShow())
	return cmd
}

// printed writes v as JSON where that is wanted, else what text returns.
func printed(cmd *cobra.Command, v any, text func() string) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text())
	return err
}

// shown makes a text of somebody else fit for a terminal.
func shown(text string) string {
	const most = 2000
	return sanitize.Text(text, most)
}

// wrapped breaks text at blanks, puts indent before the first line and as many blanks before the others.
func wrapped(text, indent string) string {
	var b strings.Builder
	line := indent
	for word := range strings.FieldsSeq(shown(text)) {
		if len([]rune(line))+1+len([]rune(word)) > width && line != indent {
			b.WriteString(line + "\n")
			indent = strings.Repeat(" ", len(indent))
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

func policyInit() *cobra.Command {
	var preset string
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Write a file of rules to begin with",
		Long:    "Init writes a preset to the user's file of rules, unless there is one.\nPresets: " + strings.Join(policy.Presets(), ", ") + ".",
		Example: "  sentinel-guard policy init --preset filesystem",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, ok := policy.Preset(preset)
			if !ok {
				return &exit{StatusUsage, fmt.Errorf("there is no preset %q; there are %s", shown(preset), strings.Join(policy.Presets(), ", "))}
			}
			path := policy.UserFile()
			if path == "" {
				return &exit{StatusUnjudged, errors.New("there is no home to write to: set HOME")}
			}
			if err := writeNew(path, text); err != nil {
				return err
			}
			return printed(cmd, writtenPreset{path, preset}, func() string {
				return "Wrote " + shown(path) + "\nChange it, then: sentinel-guard policy check\n"
			})
		},
	}
	cmd.Flags().StringVar(&preset, "preset", "sentinel", "one of those above")
	completes(cmd, "preset", policy.Presets()...)
	return cmd
}

// A writtenPreset is the file that policy init wrote.
type writtenPreset struct {
	Path   string `json:"path"`
	Preset string `json:"preset"`
}

// writeNew writes a file that is not there yet.
func writeNew(path, text string) error {
	if err := trust.MakeDir(filepath.Dir(path), 0o700); err != nil {
		return unable(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &exit{StatusFound, fmt.Errorf("%s is there already; see: sentinel-guard policy show", path)}
	}
	if err != nil {
		return unable(err)
	}
	_, err = f.WriteString(text)
	return unable(errors.Join(err, f.Close()))
}

// unable gives an error of the system its exit status.
func unable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return &exit{StatusForbidden, err}
	default:
		return &exit{StatusUnjudged, err}
	}
}

// checkedFiles is what policy check says.
type checkedFiles struct {
	Files []checkedFile `json:"files"`
}

// A checkedFile is what policy check says of a file.
type checkedFile struct {
	File     string           `json:"file"`
	Rules    int              `json:"rules"`
	Problems []policy.Problem `json:"problems"`
	Warnings []policy.Problem `json:"warnings"`
}

func policyCheck() *cobra.Command {
	return &cobra.Command{
		Use:     "check [FILE...]",
		Short:   "Say whether files of rules are valid, with file and line",
		Long:    "Check reads files of rules, without names those that are in force. The exit\nstatus is 1 when something is wrong, or is probably not what was meant.",
		Example: "  sentinel-guard policy check guard.yaml",
		RunE: func(cmd *cobra.Command, names []string) error {
			if _, err := quotaOf(cmd); err != nil {
				return err
			}
			files, found := checkFiles(names)
			err := printed(cmd, checkedFiles{files}, func() string { return checkText(files) })
			if err == nil && found {
				return &exit{status: StatusFound}
			}
			return err
		},
	}
}

func checkFiles(names []string) (files []checkedFile, found bool) {
	sources := policy.Sources()
	if len(names) > 0 {
		sources = nil
		for _, name := range names {
			sources = append(sources, policy.Source{Path: name, Required: true})
		}
	}
	files = []checkedFile{}
	for _, s := range sources {
		c := checkedFile{File: s.Path, Problems: []policy.Problem{}, Warnings: []policy.Problem{}}
		set, err := policy.Load(policy.Here(), s)
		wrong, invalid := errors.AsType[policy.Problems](err)
		switch {
		case invalid:
			c.Problems = wrong
		case len(set.Policies) == 0: // a missing file that need not be there
			continue
		default:
			c.Rules = len(set.Policies[0].Rules)
			c.Warnings = append(c.Warnings, set.Policies[0].Warnings()...)
		}
		found = found || len(c.Problems)+len(c.Warnings) > 0
		files = append(files, c)
	}
	return files, found
}

const noRules = "There is no file of rules; everything that can be read is let through.\nBegin with: sentinel-guard policy init\n"

func checkText(files []checkedFile) string {
	if len(files) == 0 {
		return noRules
	}
	var b strings.Builder
	for _, f := range files {
		for _, p := range f.Problems {
			b.WriteString(wrapped(p.String(), ""))
		}
		for _, w := range f.Warnings {
			b.WriteString(wrapped("warning: "+w.String(), ""))
		}
		if len(f.Problems) == 0 {
			fmt.Fprintf(&b, "%s: valid, %s\n", shown(f.File), humanize.Count(f.Rules, "rule", "rules"))
		}
	}
	return b.String()
}

func decisionText(d policy.Decision) string {
	if d.Rule == "" {
		return d.Action.String() + " (by default)"
	}
	return fmt.Sprintf("%s by %s (line %d)", d.Action, shown(d.Rule), d.Line)
}

func policyExplain() *cobra.Command {
	var w writtenCall
	var rules, arguments, annotations string
	cmd := &cobra.Command{
		Use:   "explain SERVER:TOOL",
		Short: "Say how a call would be decided, and why",
		Example: `  sentinel-guard policy explain db:query --arguments '{"sql":"SELECT * FROM t"}'
  sentinel-guard policy explain fs:file:///etc/passwd --method resources/read`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, name, ok := strings.Cut(args[0], ":")
			if !ok {
				return &exit{StatusUsage, errors.New("which server? Write SERVER:TOOL")}
			}
			w.Server, w.Name = server, name
			if arguments != "" {
				w.Arguments = json.RawMessage(arguments)
			}
			if annotations != "" {
				w.Annotations = json.RawMessage(annotations)
			}
			c, err := w.call()
			if err != nil {
				return &exit{StatusUsage, err}
			}
			sources := policy.Sources()
			if rules != "" {
				sources = []policy.Source{{Path: rules, Required: true}}
			}
			set, err := policy.Load(policy.Here(), sources...)
			if err != nil {
				return &exit{StatusUnjudged, err}
			}
			limits, err := boundsOf(cmd, set)
			if err != nil {
				return err
			}
			return explained(cmd, set, limits, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&rules, "rules", "", "a file of rules, in place of those in force")
	f.StringVar(&arguments, "arguments", "", "the arguments of the call, or its result, as JSON")
	f.StringVar(&annotations, "annotations", "", "the annotations of the tool, as JSON")
	f.StringVar(&w.Method, "method", policy.ToolsCall, "the method of the call")
	f.StringVar(&w.On, "on", string(policy.OnCall), "call or result")
	return cmd
}

// An explanation says how a call would be decided, and why.
type explanation struct {
	Decision policy.Decision `json:"decision"`
	Steps    []policy.Step   `json:"steps"` // a rule each
	bounds
}

func explained(cmd *cobra.Command, set *policy.Set, b bounds, c policy.Call) error {
	decision, steps := set.Explain(c)
	return printed(cmd, explanation{decision, steps, b}, func() string { return explainText(decision, steps, b) })
}

func explainText(decision policy.Decision, steps []policy.Step, limits bounds) string {
	var b strings.Builder
	b.WriteString(decisionText(decision) + "\n")
	if decision.Action > policy.Log {
		b.WriteString(wrapped(decision.Sentence(), "  "))
	}
	if decision.Unreadable != "" {
		b.WriteString(wrapped(decision.Unreadable, "  "))
	}
	if text := limits.text(); text != "" {
		b.WriteString(wrapped("Limits besides: "+text, ""))
	}
	for _, s := range steps {
		word := "no "
		if s.Matched {
			word = "yes"
		}
		b.WriteString(wrapped(fmt.Sprintf("%s:%d %s (%s): %s", filepath.Base(s.File), s.Line, s.Rule, s.Action, s.Why), word+" "))
	}
	return b.String()
}

// shownPolicies are the rules and limits in force.
type shownPolicies struct {
	Files []shownPolicy `json:"files"`
	bounds
}

// A shownPolicy is one file as policy show prints it.
type shownPolicy struct {
	File    string        `json:"file"`
	Default policy.Action `json:"default"`
	Rules   []shownRule   `json:"rules"`
	Limits  policy.Limits `json:"limits"`
}

type shownRule struct {
	Name   string        `json:"name"`
	Line   int           `json:"line"`
	Action policy.Action `json:"action"`
	Tools  []string      `json:"tools"`
	Reason string        `json:"reason,omitempty"`
}

func policyShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show all rules in force, file by file, and the limits of all",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := policy.Load(policy.Here(), policy.Sources()...)
			if err != nil {
				return &exit{StatusUnjudged, err}
			}
			limits, err := boundsOf(cmd, set)
			if err != nil {
				return err
			}
			files := []shownPolicy{}
			for _, p := range set.Policies {
				s := shownPolicy{p.File, p.Default, []shownRule{}, p.Limits}
				for i := range p.Rules {
					r := &p.Rules[i]
					s.Rules = append(s.Rules, shownRule{r.Name, r.Line, r.Action, r.Tools(), r.Reason})
				}
				files = append(files, s)
			}
			return printed(cmd, shownPolicies{files, limits}, func() string { return showText(files) + limits.inForce() })
		},
	}
}

func showText(files []shownPolicy) string {
	if len(files) == 0 {
		return noRules
	}
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s\n  default: %s\n", shown(f.File), f.Default)
		if limits := f.Limits.Text(); limits != "" {
			b.WriteString(wrapped("limits: "+limits, "  "))
		}
		for _, r := range f.Rules {
			fmt.Fprintf(&b, "  %4d  %-19s  %s\n", r.Line, r.Action, sanitize.Text(r.Name, width-29))
			b.WriteString(wrapped(strings.Join(r.Tools, ", "), strings.Repeat(" ", 29)))
		}
	}
	return b.String()
}
