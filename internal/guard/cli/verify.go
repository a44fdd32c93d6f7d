// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sentinel/internal/guard/record"
)

// verifyCommand checks the record.
func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the record is what was written",
		Long: `Verify reads the whole record and says which line was changed, lost or added.
The exit status is 1 when one was. Who has the rights of the user can rewrite
the record with its key and all; verify finds what others did, and accidents.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
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
	b.WriteString(wrapped(fmt.Sprintf("%s: %d lines in %d files. %d of them came after the head was signed last, and their end could be cut off unnoticed.", verdict, r.Records, r.Files, r.Unsigned), ""))
	return b.String()
}
