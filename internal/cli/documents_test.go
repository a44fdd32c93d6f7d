// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/ops"
	"sentinel/internal/progress"
	"sentinel/internal/schema"
	"sentinel/internal/testenv"
)

// Every document, of this machine and of the fixture machines, is described by
// the whole schema with nothing left over, and by the brief one that clients
// check against.
func TestEveryDocumentMatchesItsSchemas(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("telemetry is read on Linux")
	}
	hosts := filepath.Join("..", "..", "testdata", "hosts")
	for _, root := range []string{
		filepath.Join(hosts, "laptop"), filepath.Join(hosts, "vm"), filepath.Join(hosts, "container"), filepath.Join(hosts, "raspberrypi"), "/",
	} {
		for _, op := range ops.All() {
			if op.Effect != ops.Read || op.Privilege == ops.NeedsRoot {
				continue // has tests of its own, where it may do what it does
			}
			if op.Name == "get_service_status" {
				continue // needs a service manager that runs; see test/remedy
			}
			if op.Name == "check_updates" && root != "/" {
				continue // no package manager can be asked about a picture of a machine
			}
			t.Run(filepath.Base(root)+"/"+op.Name, func(t *testing.T) {
				t.Parallel()
				arguments := []string{"--request", op.Name}
				if op.Name == "get_process_details" {
					arguments = []string{"--json", "--process", "1"}
				}
				raw, status := run(t, root, arguments...)
				if status != fault.ExitOK {
					t.Fatalf("exit status %d: %s", status, raw)
				}
				for _, d := range []schema.Form{schema.Brief, schema.Strict} {
					validate(t, schemaOf(op, d), raw)
				}
				if len(raw) > usualAnswer {
					t.Errorf("a usual answer has %d bytes", len(raw))
				}
				if bytes.Contains(raw, []byte(":null")) {
					t.Errorf("an unknown value is null, not absent: %s", raw)
				}
			})
		}
	}
}

func TestEveryErrorDocumentMatchesItsSchemas(t *testing.T) {
	for _, op := range ops.All() {
		for _, info := range fault.All() {
			raw, err := json.Marshal(fault.NewDocument(op.Action, fault.New(info.Code, "A sentence.")))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []schema.Form{schema.Brief, schema.Strict} {
				validate(t, schemaOf(op, d), raw)
			}
		}
	}
}

// A schema that takes anything would make the tests above worthless.
func TestTheSchemasRefuseWhatIsWrong(t *testing.T) {
	op, _ := ops.ByName("get_system_health")
	for _, wrong := range []string{`{}`, `{"success":"yes"}`, `{"success":true,"threat_level":"HIGH"}`, `{"success":true,"memory":{"total_bytes":"7"}}`, `[]`} {
		if conforms(schemaOf(op, schema.Brief), []byte(wrong)) == nil {
			t.Errorf("the brief schema takes %s", wrong)
		}
	}
	if conforms(schemaOf(op, schema.Strict), []byte(`{"success":true,"surprise":1}`)) == nil {
		t.Error("the strict schema takes an unknown field")
	}
}

// run executes sentinel over the machine below root and returns its document.
func run(t *testing.T, root string, args ...string) ([]byte, int) {
	t.Helper()
	p := Program{
		Open:       func() (*host.Host, error) { return local.Open(root) },
		ConfigPath: filepath.Join(t.TempDir(), "none.yaml"),
		StateDir:   t.TempDir(),
		Journal:    quietJournal(t.TempDir()),
		UID:        testenv.Nobody,
	}
	var out, errs bytes.Buffer
	status := p.Run(t.Context(), args, strings.NewReader(""), &out, &errs)
	for line := range strings.Lines(errs.String()) {
		if _, _, ok := progress.Parse(strings.TrimSuffix(line, "\n")); !ok {
			t.Errorf("stderr: %s", line)
		}
	}
	return out.Bytes(), status
}

func validate(t *testing.T, schema map[string]any, raw []byte) {
	t.Helper()
	if err := conforms(schema, raw); err != nil {
		t.Errorf("%v\n%s", err, raw)
	}
}

// conforms says how raw breaks schema; a schema that cannot be compiled breaks it
// too.
func conforms(schema map[string]any, raw []byte) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	compiled, err := compile(text)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// compiledSchemas holds each schema by its text: compiling takes longer than
// validating, and the tests validate thousands of documents.
var compiledSchemas sync.Map

func compile(text []byte) (*jsonschema.Schema, error) {
	if known, ok := compiledSchemas.Load(string(text)); ok {
		return known.(*jsonschema.Schema), nil
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("document.json", parsed); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("document.json")
	if err == nil {
		compiledSchemas.Store(string(text), compiled)
	}
	return compiled, err
}

// The three parts of a failure reach the caller whole, whatever went wrong.
func TestFaultsKeepTheirMeaning(t *testing.T) {
	for _, info := range fault.All() {
		if info.Exit < 1 || info.Meaning == "" || info.Fix == "" {
			t.Errorf("%s is not complete: %+v", info.Code, info)
		}
		if !slices.Contains([]int{1, 2, 3, 4, 75, 130}, info.Exit) {
			t.Errorf("%s ends with the undocumented status %d", info.Code, info.Exit)
		}
	}
	unknown := fault.NewDocument("x", errors.New("boom"))
	if unknown.ErrorCode != fault.Internal || !strings.Contains(unknown.Error, "boom") {
		t.Errorf("an unexpected error became %+v", unknown)
	}
	if missing := fault.NewDocument("x", os.ErrNotExist); missing.Fix == "" {
		t.Error("an unexpected error has no fix")
	}
}
