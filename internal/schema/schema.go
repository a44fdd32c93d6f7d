// SPDX-License-Identifier: Apache-2.0

// Package schema derives JSON Schemas from the types of documents. The generator
// and tests use it; neither program links it.
package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

// A Form says how detailed a schema is.
type Form struct {
	brief  bool    // for a field tagged schema:"brief", only its type
	closed bool    // members that are not described are rejected
	source *Source // where descriptions come from; nil leaves them out
}

var (
	// Brief is the form for MCP clients. They put the schemas of all tools in front
	// of the model on every turn.
	Brief = Form{brief: true}
	// Strict describes everything and rejects everything else. It is for tests.
	Strict = Form{closed: true}
)

// Whole is the form with all descriptions, for publication.
func Whole(source *Source) Form { return Form{source: source} }

// Document describes both documents of an operation, of success and of failure.
// Clients validate both against it, so only success is required.
func (f Form) Document(op ops.Operation, result reflect.Type) map[string]any {
	schema := f.Object(reflect.TypeFor[fault.Document](), result)
	schema["properties"].(map[string]any)["action"] = map[string]any{"const": op.Action}
	schema["required"] = []string{"success"}
	return schema
}

// Object describes one object that has the fields of all the structs.
func (f Form) Object(structs ...reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, t := range structs {
		f.addProperties(t, properties)
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if f.closed {
		schema["additionalProperties"] = false
	}
	return schema
}

// addProperties adds the fields of a struct as encoding/json sees them.
func (f Form) addProperties(t reflect.Type, properties map[string]any) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			f.addProperties(field.Type, properties)
		case name != "-" && field.IsExported():
			properties[name] = f.field(t, field)
		}
	}
}

func (f Form) field(owner reflect.Type, field reflect.StructField) map[string]any {
	schema := f.value(field.Type)
	if f.brief && field.Tag.Get("schema") == "brief" {
		schema = map[string]any{"type": schema["type"]}
	}
	if f.source != nil {
		if text := f.source.comment(owner, field.Name); text != "" {
			schema["description"] = text
		}
	}
	if enum := field.Tag.Get("enum"); enum != "" {
		schema["enum"] = strings.Split(enum, ",")
	}
	return schema
}

// A describer provides its own schema, because its members are defined by a table.
type describer interface{ JSONSchema() map[string]any }

func (f Form) describe(d describer) map[string]any {
	schema := d.JSONSchema()
	if f.closed {
		schema["additionalProperties"] = false
	}
	return schema
}

func (f Form) value(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	if t.Implements(reflect.TypeFor[describer]()) {
		return f.describe(reflect.Zero(t).Interface().(describer))
	}
	switch {
	case t.Kind() == reflect.Int && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Implements(reflect.TypeFor[json.Marshaler]()):
		return map[string]any{} // whatever it writes
	}
	switch t.Kind() {
	case reflect.Interface:
		return map[string]any{}
	case reflect.Pointer:
		return f.value(t.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": f.value(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": f.value(t.Elem())}
	case reflect.Struct:
		return f.Object(t)
	default:
		panic("no JSON Schema for " + t.String())
	}
}
