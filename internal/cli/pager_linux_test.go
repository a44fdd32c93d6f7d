// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// A tall document has a page of so many lines.
type tall int

func (n tall) view(p *page) {
	for range n {
		p.line("line")
	}
}

// fakePager makes a pager that says how it was started, and what it was given.
func fakePager(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"pager: $#, $*, $LESS, $TERM\"\nexec wc -l\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPageLongerThanTheScreenGoesThroughThePager(t *testing.T) {
	pager := fakePager(t)
	action := func(name string) ops.Operation {
		op, known := ops.ByName(name)
		if !known {
			t.Fatal(name)
		}
		return op
	}
	long, short, audit := tall(24), tall(23), action("security_audit")
	for name, test := range map[string]struct {
		call    invocation
		doc     document
		environ []string
		paged   bool
	}{
		"long":                {invocation{op: audit}, long, []string{"SENTINEL_PAGER=" + pager}, true},
		"text":                {invocation{op: audit, form: textForm}, long, []string{"SENTINEL_PAGER=" + pager}, true},
		"PAGER":               {invocation{op: audit}, long, []string{"PAGER=" + pager}, true},
		"own before PAGER":    {invocation{op: audit}, long, []string{"PAGER=/nowhere", "SENTINEL_PAGER=" + pager}, true},
		"short":               {invocation{op: audit}, short, []string{"PAGER=" + pager}, false},
		"--no-pager":          {invocation{op: audit, noPager: true}, long, []string{"PAGER=" + pager}, false},
		"json":                {invocation{op: audit, form: jsonForm}, long, []string{"PAGER=" + pager}, false},
		"a program asks":      {invocation{op: audit, request: true}, long, []string{"PAGER=" + pager}, false},
		"top":                 {invocation{op: action("get_top_processes")}, long, []string{"PAGER=" + pager}, false},
		"a change":            {invocation{op: action("enable_firewall")}, long, []string{"PAGER=" + pager}, false},
		"none":                {invocation{op: audit}, long, []string{"SENTINEL_PAGER=", "PAGER=" + pager}, false},
		"cat":                 {invocation{op: audit}, long, []string{"PAGER=cat"}, false},
		"is not there":        {invocation{op: audit}, long, []string{"PAGER=/nowhere"}, false},
		"no shell takes it":   {invocation{op: audit}, long, []string{"PAGER=/nowhere; " + pager}, false},
		"a terminal of paper": {invocation{op: audit}, long, []string{"PAGER=" + pager, "TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.environ = append(test.environ, "TERM=xterm", "PATH="+os.Getenv("PATH"))
			p := Program{Environ: func() []string { return test.environ }, Getenv: func(name string) string {
				value, _ := lookup(test.environ, name)
				return value
			}}
			got := shown(t, func(terminal *os.File) { p.newOutput(t.Context(), test.call, terminal, os.Stderr).document(test.doc) })
			if paged := strings.HasPrefix(got, "pager: 0, , FRX, xterm\r\n24"); paged != test.paged {
				t.Errorf("paged: %v\n%s", paged, got)
			}
			if test.call.form != jsonForm && !test.paged && strings.Count(got, "line\r\n") != int(test.doc.(tall)) {
				t.Errorf("it is not whole: %q", got)
			}
		})
	}
}

// The help is longer than a screen, too; what a program reads is not paged.
func TestTheHelpGoesThroughThePager(t *testing.T) {
	environ := []string{"PAGER=" + fakePager(t), "TERM=xterm", "PATH=" + os.Getenv("PATH")}
	p := Program{Environ: func() []string { return environ }, Getenv: func(name string) string {
		value, _ := lookup(environ, name)
		return value
	}}
	for line, paged := range map[string]bool{"--help": true, "help": true, "--help --no-pager": false, "--no-pager -h": false, "help top": false, "--completion bash": false} {
		got := shown(t, func(terminal *os.File) { p.Run(t.Context(), strings.Fields(line), nil, terminal, os.Stderr) })
		if is := strings.HasPrefix(got, "pager: "); is != paged || !paged && len(got) < 100 {
			t.Errorf("%s: paged: %v\n%s", line, is, got)
		}
	}
}

func TestTheEndOfAPipeHasNoPager(t *testing.T) {
	p := Program{Environ: func() []string { return []string{"PAGER=" + fakePager(t)} }, Getenv: func(string) string { return "xterm" }}
	if o := p.newOutput(t.Context(), invocation{}, io.Discard, io.Discard); o.pager != nil {
		t.Errorf("%+v", o.pager)
	}
}

// A pager starts shells, so that whoever may run sentinel as root could do anything.
func TestThePagerOfRootIsLessInItsSecureMode(t *testing.T) {
	environ := []string{"PAGER=/bin/sh", "LESSOPEN=|/bin/sh %s", "LESSSECURE=0", "LESS=+!sh", "LD_PRELOAD=/x", "TERM=xterm-256color", "PATH=/home/ann/bin"}
	p := Program{Root: true, Environ: func() []string { return environ }, Getenv: func(name string) string {
		value, _ := lookup(environ, name)
		return value
	}}
	pager := p.pager()
	testenv.Need(t, pager != nil, "less (Debian package less), installed by root")
	if (pager.Path != "/usr/bin/less" && pager.Path != "/bin/less") || len(pager.Args) != 0 {
		t.Errorf("%s %q", pager.Path, pager.Args)
	}
	if want := append(slices.Clone(rootsPager), "TERM=xterm-256color"); !slices.Equal(pager.Env, want) || !slices.Contains(want, "LESSSECURE=1") {
		t.Errorf("%q", pager.Env)
	}
	environ = []string{"TERM=../../home/ann/xterm"}
	if pager := p.pager(); pager != nil {
		t.Errorf("a description of a terminal outside of its folder: %+v", pager)
	}
}
