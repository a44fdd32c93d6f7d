// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoTwoOperationsShareANameAFlagOrAnAction(t *testing.T) {
	seen := map[string]string{}
	claim := func(what, value, op string) {
		if other, taken := seen[what+value]; taken {
			t.Errorf("%s %q belongs to %s and to %s", what, value, other, op)
		}
		seen[what+value] = op
	}
	for _, o := range Options() {
		claim("word ", o.Name, "the options")
		claim("flag ", o.Name, "the options")
	}
	shared := map[string]Field{}
	for _, op := range Actions() {
		claim("name ", op.Name, op.Name)
		claim("action ", op.Action, op.Name)
		claim("flag ", op.Flag, op.Name)
		claim("word ", op.Word(), op.Name)
		if op.Alias != "" {
			claim("word ", op.Flag, op.Name)
		}
		for _, f := range op.Fields {
			if IsOption(f.Flag) {
				continue // --dry-run, which programs have as an argument
			}
			if first, again := shared[f.Flag]; again && cmp.Equal(first, f) {
				continue // a flag that means the same everywhere, such as --reason
			}
			shared[f.Flag] = f
			if f.Flag != op.Flag {
				claim("flag ", f.Flag, op.Name)
			}
		}
	}
}

func TestEveryOperationIsComplete(t *testing.T) {
	for _, op := range Actions() {
		tool := op.Toolset != ""
		if op.Title == "" || op.Usage == "" || tool != (op.Description != "") {
			t.Errorf("%s lacks a text", op.Name)
		}
		if _, listed := ByName(op.Name); listed != tool {
			t.Errorf("%s: a tool: %v, in All: %v", op.Name, tool, listed)
		}
		if op.Deadline <= 0 || op.Deadline.Seconds() > 45 {
			t.Errorf("%s: deadline %v is not within the 45 s that clients wait", op.Name, op.Deadline)
		}
		for _, f := range op.Fields {
			if f.Required != (f.Flag == op.Flag && f.Default == nil && !f.Optional()) {
				t.Errorf("%s.%s: the value of the operation's own flag, and no other, is required unless it has a default or may be left out", op.Name, f.Name)
			}
		}
		if op.Effect == Read && !op.Idempotent {
			t.Errorf("%s reads and is not idempotent", op.Name)
		}
		if tool && !json.Valid(op.OutputSchema()) {
			t.Errorf("%s has no output schema; run: make generate", op.Name)
		}
	}
}

// An administrator who grants reading must not grant a change, and each tool that root is of use to
// is in one alias of the rules of sudo.
func TestEveryToolForRootHasTheGrantOfItsEffect(t *testing.T) {
	for _, op := range All() {
		switch granted := op.Grant != ""; {
		case granted != (op.Privilege != AnyUser):
			t.Errorf("%s has the grant %q and the privilege %v", op.Name, op.Grant, op.Privilege)
		case granted && op.Writes() != (op.Grant == GrantWrite):
			t.Errorf("%s writes: %v, and has the grant %q", op.Name, op.Writes(), op.Grant)
		case granted && op.Toolset == DefaultToolset && op.Grant != GrantRead && op.Grant != GrantWrite:
			t.Errorf("%s is in the default toolset, and those who may only read lack %q", op.Name, op.Grant)
		case granted && (!slices.Contains(Grants(), op.Grant) || op.Grant.Meaning() == ""):
			t.Errorf("%s has the unknown grant %q", op.Name, op.Grant)
		}
	}
}

// What can be looked at before it is done can be looked at by everyone who may do it.
func TestEveryChangeHasADryRunForPrograms(t *testing.T) {
	for _, op := range All() {
		f, err := op.field("dry_run")
		if writes := op.Writes(); writes != (err == nil) || writes && !cmp.Equal(f, dryRun) {
			t.Errorf("%s: writes: %v, dry_run: %+v, %v", op.Name, op.Writes(), f, err)
		}
	}
}

func TestEveryDefaultIsAllowed(t *testing.T) {
	for _, op := range All() {
		for _, f := range op.Fields {
			if f.Default == nil {
				continue
			}
			raw, err := json.Marshal(f.Default)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := f.fromJSON(raw); err != nil || got != f.Default {
				t.Errorf("%s.%s: the default %s reads as %v, %v", op.Name, f.Name, raw, got, err)
			}
		}
	}
}

// A new operation is one file and one line in All; this test fails when the line is
// missing.
func TestEveryOperationInAFileIsInTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, op := range Actions() {
		listed[op.Name] = true
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range operationsIn(parsed) {
			found++
			if !listed[name] {
				t.Errorf("%s declares %s, which is in neither All nor Commands", file, name)
			}
			if file != name+".go" {
				t.Errorf("%s declares %s; it belongs into %s.go", file, name, name)
			}
		}
	}
	if found != len(listed) {
		t.Errorf("found %d operations in files, %d in the table", found, len(listed))
	}
}

// operationsIn returns the Name of each package variable that is an Operation.
func operationsIn(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := literal.Type.(*ast.Ident); !ok || kind.Name != "Operation" {
			return true
		}
		for _, e := range literal.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := pair.Key.(*ast.Ident); ok && key.Name == "Name" {
				names = append(names, strings.Trim(pair.Value.(*ast.BasicLit).Value, `"`))
			}
		}
		return false
	})
	return names
}

func TestInputSchemaStatesTheBounds(t *testing.T) {
	op, _ := ByName("get_top_processes")
	const want = `{"additionalProperties":false,"properties":{` +
		`"count":{"default":10,"description":"Number of processes to return","maximum":100,"minimum":1,"type":"integer"},` +
		`"sort":{"default":"cpu","description":"Rank by CPU or by resident memory","enum":["cpu","memory"],"type":"string"}},"type":"object"}`
	if got := string(op.InputSchema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty, _ := ByName("get_system_health")
	if got, want := string(empty.InputSchema()), `{"additionalProperties":false,"properties":{},"type":"object"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What reads a tree of files, scans or waits for other hosts could hold a machine up for as long as it
// takes.
func TestWhatGoesBeforeOtherProcessesIsShort(t *testing.T) {
	want := []string{
		"get_system_health", "get_top_processes", "get_network_stats", "terminate_process", "block_ip_address", "unblock_ip_address", "list_blocked_ips",
		"restart_service", "get_service_status",
	}
	var preferred []string
	for _, op := range Actions() {
		if op.Preferred {
			preferred = append(preferred, op.Name)
		}
	}
	if diff := cmp.Diff(want, preferred); diff != "" {
		t.Error(diff)
	}
}
