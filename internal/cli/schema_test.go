// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/ops"
)

var update = flag.Bool("update", false, "rewrite golden files")

// results are the types of the documents of each operation.
func results() map[string]any {
	return map[string]any{
		"get_system_health":  healthDocument{},
		"get_top_processes":  topDocument{},
		"get_network_stats":  networkDocument{},
		"get_asset_info":     assetDocument{},
		"get_action_history": historyDocument{},
		"check_updates":      updatesDocument{},
		"security_audit":     auditDocument{},
		"scan_ports":         scanDocument{},
		"dns_lookup":         lookupDocument{},
		"traceroute":         routeDocument{},
		"terminate_process":  terminateDocument{},
		"block_ip_address":   blockDocument{},
		"unblock_ip_address": unblockDocument{},
		"list_blocked_ips":   blockedDocument{},
		"enable_firewall":    enableDocument{},
		"restart_service":    restartDocument{},

		"send_telemetry_webhook": webhookDocument{},
	}
}

// The schema that goes to clients is brief; the one in docs is whole.
func TestOutputSchemasAreThoseOfTheResultTypes(t *testing.T) {
	for _, op := range ops.All() {
		t.Run(op.Name, func(t *testing.T) {
			brief, err := json.Marshal(schemaOf(op, brief))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("..", "ops", "schemas", op.Name+".json"), append(brief, '\n'))
			described := schemaOf(op, whole)
			described["$schema"], described["title"] = "https://json-schema.org/draft/2020-12/schema", op.Title
			whole, err := json.MarshalIndent(described, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("..", "..", "docs", "schemas", op.Name+".json"), append(whole, '\n'))
		})
	}
}

// golden compares got with a file, or rewrites the file with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if the change is meant, run: make golden\n got %s\nwant %s", file, got, want)
	}
}

// detail says how much of the nested values a schema describes. Clients put
// the schemas of all tools before the model, so what goes there describes by its type
// alone what a field tagged schema:"brief" holds.
type detail int

const (
	brief detail = iota
	whole
	strict // whole, and nothing else is allowed; for tests
)

func schemaOf(op ops.Operation, d detail) map[string]any {
	return d.document(op, results()[op.Name])
}

// document describes both documents of an operation, the successful one
// and the failed one: clients check either against it, so only success is
// required.
func (d detail) document(op ops.Operation, result any) map[string]any {
	schema := d.object(reflect.TypeFor[fault.Document](), reflect.TypeOf(result))
	schema["properties"].(map[string]any)["action"] = map[string]any{"const": op.Action}
	schema["required"] = []string{"success"}
	return schema
}

func (d detail) object(types ...reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, t := range types {
		d.properties(t, properties)
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if d == strict {
		schema["additionalProperties"] = false
	}
	return schema
}

// properties adds the fields of a struct as encoding/json sees them.
func (d detail) properties(t reflect.Type, properties map[string]any) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		embedded := field.Type
		switch {
		case field.Anonymous && name == "":
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			d.properties(embedded, properties)
		case name != "-" && field.IsExported():
			schema := d.value(field.Type)
			if d == brief && field.Tag.Get("schema") == "brief" {
				schema = map[string]any{"type": schema["type"]}
			}
			if text := comments()[t.PkgPath()+"."+t.Name()+"."+field.Name]; text != "" && d == whole {
				schema["description"] = text
			}
			if enum := field.Tag.Get("enum"); enum != "" {
				schema["enum"] = strings.Split(enum, ",")
			}
			properties[name] = schema
		}
	}
}

func (d detail) value(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[time.Time]() {
		return map[string]any{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Interface:
		return map[string]any{}
	case reflect.Pointer:
		return d.value(t.Elem())
	case reflect.Uint16:
		return map[string]any{"type": "integer"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": d.value(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": d.value(t.Elem())}
	case reflect.Struct:
		return d.object(t)
	default:
		panic("no JSON Schema for " + t.String())
	}
}
