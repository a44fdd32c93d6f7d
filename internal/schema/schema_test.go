// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
)

type inner struct {
	Depth *float64 `json:"depth,omitempty"` // in metres
}

type document struct {
	answer.Header
	// Kind is said above.
	Kind   string  `json:"kind" enum:"a,b"`
	Inner  []inner `json:"inner" schema:"brief"` // what is inside
	hidden int
	Bare   bool `json:"bare"`
}

// The source is found by the package of the type; types declared in test files
// count.
func TestDescriptionsComeFromTheSourceOfEachType(t *testing.T) {
	_ = document{}.hidden
	source := NewSource(filepath.Join("..", ".."))
	got := Whole(source).Object(reflect.TypeFor[document]())["properties"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"type": "string", "enum": []string{"a", "b"}, "description": "Kind is said above."}, got["kind"]); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{"type": "array", "description": "what is inside", "items": map[string]any{
		"type": "object", "properties": map[string]any{"depth": map[string]any{"type": "number", "description": "in metres"}},
	}}
	if diff := cmp.Diff(want, got["inner"]); diff != "" {
		t.Error(diff)
	}
	if text := got["timestamp"].(map[string]any)["description"]; text != "RFC 3339, UTC" {
		t.Errorf("the embedded header's timestamp is described as %q", text)
	}
	if err := source.Err(); err == nil || !strings.Contains(err.Error(), "sentinel/internal/schema.document.Bare has no comment") || strings.Count(err.Error(), "no comment") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestBriefSchemasLeaveNestedValuesOut(t *testing.T) {
	got := Brief.Object(reflect.TypeFor[document]())["properties"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"type": "array"}, got["inner"]); diff != "" {
		t.Error(diff)
	}
}
