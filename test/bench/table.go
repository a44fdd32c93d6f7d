// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// A row is one figure beside its bar.
type row struct {
	what     string
	measured float64
	bar      float64
	unit     string // after both figures
	basis    string // what the figure is made of
	missing  string // why there is no figure
}

func (r row) met() string {
	switch {
	case r.missing != "":
		return "-"
	case r.measured <= r.bar:
		return "yes"
	default:
		return "NO"
	}
}

func (r row) figure() string {
	if r.missing != "" {
		return r.missing
	}
	return fmt.Sprintf("%.2f%s", r.measured, r.unit)
}

// print writes the table; title says on what machine it was measured.
func print(w io.Writer, title string, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n\n", title)
	fmt.Fprintln(t, "what\tmeasured\tbar\tmet\tfrom")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t≤ %g%s\t%s\t%s\n", r.what, r.figure(), r.bar, r.unit, r.met(), r.basis)
	}
	return t.Flush()
}
