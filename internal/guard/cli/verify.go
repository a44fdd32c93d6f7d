// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/record"
	"sentinel/internal/humanize"
)

// verifyCommand checks the record.
func verifyCommand() *cobra.Command {
	var proof, check, key string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the record is what was written",
		Long: `Verify reads the whole record and says which line was changed, lost or added.
The exit status is 1 when one was. Who has the rights of the user can rewrite
the record with its key and all; verify finds what others did, and accidents.`,
		Example: "  sentinel-guard verify --proof AAAA-1 > proof.json\n  sentinel-guard verify --check proof.json --key \"$KEY\"",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("key") && (key == "" || check == ""):
				return &exit{StatusUsage, errors.New("--key goes with --check, and an empty one would be any")}
			case proof != "":
				return prove(cmd, proof)
			case check != "":
				return checkProof(cmd, check, key)
			}
			report, err := record.Verify(cmd.Context(), record.Dir())
			if err != nil {
				return unable(err)
			}
			err = printed(cmd, report, func() string { return verifyText(report) })
			if err == nil && report.ProblemsTotal > 0 {
				return &exit{status: StatusFound}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&proof, "proof", "", "print a proof of this event, or of line SESSION:SEQ")
	cmd.Flags().StringVar(&check, "check", "", "check the proof in this file; - is the standard input")
	cmd.Flags().StringVar(&key, "key", "", "that must have signed what is checked")
	cmd.Flags().Bool("json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("proof", "check")
	cmd.MarkFlagsMutuallyExclusive("proof", "key")
	return cmd
}

// prove prints, as JSON, that a line is in the record.
func prove(cmd *cobra.Command, event string) error {
	p, err := record.Prove(cmd.Context(), record.Dir(), event)
	if err != nil {
		return unproved(err)
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

// A checkedProof is a proof that holds.
type checkedProof struct {
	Event    record.Event `json:"event"`
	Verifier string       `json:"verifier"` // who signed it, as sumdb/note writes a key
}

// checkProof says whether a proof holds, of which event and signed by which key. It needs no record.
func checkProof(cmd *cobra.Command, path, key string) error {
	p, err := record.ReadProof(path, cmd.InOrStdin())
	if err != nil {
		return unable(err)
	}
	event, err := p.Check(key)
	if err != nil {
		return unproved(err)
	}
	return printed(cmd, checkedProof{event, p.Verifier}, func() string { return proofText(p, event, key != "") })
}

// unproved has a status of its own for what is not what was signed, and for what is not there.
func unproved(err error) error {
	switch {
	case errors.Is(err, record.ErrNotTheRecord):
		return &exit{StatusFound, err}
	case errors.Is(err, record.ErrNoLine):
		return &exit{StatusUsage, err}
	default:
		return unable(err)
	}
}

func proofText(p record.Proof, e record.Event, keyGiven bool) string {
	text := fmt.Sprintf("The proof holds: line %d of %d of %s was signed as it stands.\n", p.Index+1, p.TreeSize, shown(p.File))
	if !keyGiven {
		text += "Compare who signed, or give --key: " + shown(p.Verifier) + "\n"
	}
	if e.Type == record.Call {
		return text + callsText([]record.Event{e})
	}
	return text + eventsText([]record.Event{e})
}

func verifyText(r record.Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		place := p.File
		if p.Line > 0 {
			place += fmt.Sprintf(":%d", p.Line)
		}
		if place != "" {
			place += ": "
		}
		b.WriteString(wrapped(place+p.Message, ""))
	}
	for _, name := range r.Torn {
		b.WriteString(wrapped(name+": a guard was killed while it wrote the last line; those before it are whole", ""))
	}
	verdict := "The record is what was written"
	if r.ProblemsTotal > 0 {
		verdict = fmt.Sprintf("The record is NOT what was written, in %d places", r.ProblemsTotal)
	}
	b.WriteString(wrapped(fmt.Sprintf("%s: %s in %s. %s", verdict, humanize.Count(int(r.Records), "line", "lines"), humanize.Count(r.Files, "file", "files"), unsigned(r.Unsigned)), ""))
	return b.String()
}

// unsigned says how much of the record no signature covers.
func unsigned(lines int64) string {
	switch lines {
	case 0:
		return "All are signed."
	case 1:
		return "One came after the last signature, and could be cut off unnoticed."
	default:
		return fmt.Sprintf("%d came after the last signature, and those at the end could be cut off unnoticed.", lines)
	}
}
