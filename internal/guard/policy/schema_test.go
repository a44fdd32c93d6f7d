// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const schemaFile = "../../../docs/policy.schema.json"

// What the program takes, the schema takes, and it refuses what an editor can see to be wrong.
func TestTheSchemaDescribesTheFile(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	good := []string{original, "rules:\n", "environment: minimal", "version: 1\nlimits: {calls_per_minute: 5, per_tool: {a: 1}, timeout_seconds: 5, message_bytes: 1, result_bytes: 1073741824, failure_ratio: 1, concurrency: 1}"}
	for _, m := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		good = append(good, m[1])
	}
	for _, name := range Presets() {
		text, _ := Preset(name)
		good = append(good, text)
	}
	for _, text := range good {
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, text := range []string{
		"rule: []", "default: log", "environment: none", "rules: [{name: r}]", "rules: [{name: r, action: deny}]", "limits: {concurrency: 0}", "limits: {result_bytes: 0}", "limits: {timeout_seconds: 86401}", "rules: [{id: r, tools: [x]}]",
		rule("block", "{argument: a}"), rule("block", "{argument: a, like: x}"), rule("block", "{argument: a, as: file, equals: x}"), rule("block", "{argument: a, as: path, inside: []}"),
	} {
		if validate(t, schema, text) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if _, err := Parse("p", []byte(text), Environment{}); err == nil {
			t.Errorf("the program takes %s", text)
		}
	}
}

func validate(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(v)
}

// Every operator and reading of the program stands in the schema, and no other.
func TestTheSchemaNamesEveryOperator(t *testing.T) {
	raw, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Condition struct {
				Properties map[string]json.RawMessage
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for name := range schema.Defs.Condition.Properties {
		got = append(got, name)
	}
	for name := range operators {
		want = append(want, name)
	}
	want = append(want, "argument", "as", "ignore_case", "nfkc")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %v, the program %v", got, want)
	}
}
