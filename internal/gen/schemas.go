// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"sentinel/internal/cli"
	guard "sentinel/internal/guard/cli"
	"sentinel/internal/guard/record"
	"sentinel/internal/ops"
	"sentinel/internal/schema"
	"sentinel/internal/webhook"
)

const dialect = "https://json-schema.org/draft/2020-12/schema"

// addSchemas adds two schemas of each tool, the brief one for clients and the full
// one that is published, and the schema of the documents that webhooks receive.
func addSchemas(files map[string][]byte) error {
	results, source := cli.Results(), schema.NewSource(root)
	for _, op := range ops.All() {
		result, ok := results[op.Name]
		if !ok {
			return fmt.Errorf("%s has no result type", op.Name)
		}
		if result.Kind() == reflect.Pointer {
			result = result.Elem()
		}
		brief, err := json.Marshal(schema.Brief.Document(op, result))
		if err != nil {
			return err
		}
		files["internal/ops/schemas/"+op.Name+".json"] = append(brief, '\n')
		described := schema.Whole(source).Document(op, result)
		described["$schema"], described["title"] = dialect, op.Title
		if op.Writes() {
			addDryRun(described["properties"].(map[string]any))
		}
		if err := addJSON(files, "docs/schemas/"+op.Name+".json", described); err != nil {
			return err
		}
	}
	if err := addJSON(files, fmt.Sprintf("docs/schemas/webhook-v%d.json", webhook.SchemaVersion), deliveredSchema(source)); err != nil {
		return err
	}
	if err := addJSON(files, "docs/schemas/guard_record.json", recordSchema(source)); err != nil {
		return err
	}
	for name, document := range guard.Documents() {
		s := schema.Whole(schema.NewSource(root)).Object(document) // whose members say what they are
		s["$schema"], s["title"] = dialect, "What sentinel-guard "+strings.ReplaceAll(name, "_", " ")+" --json prints"
		if err := addJSON(files, "docs/schemas/guard_"+name+".json", s); err != nil {
			return err
		}
	}
	return source.Err()
}

// recordSchema is the schema of a line of the guard's record. A line ends with its hash, which no
// event has.
func recordSchema(source *schema.Source) map[string]any {
	s := schema.Whole(source).Object(reflect.TypeFor[record.Event]())
	s["properties"].(map[string]any)["hash"] = map[string]any{"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "SHA-256 of the bytes of the line before ,\"hash\":"}
	s["$schema"], s["$id"], s["title"] = dialect, "urn:sentinel:schema:guard-record:1", "A line of the record of sentinel-guard"
	s["required"] = []string{"seq", "type", "timestamp", "session_id", "server_id", "prev", "hash"}
	return s
}

// addDryRun adds the members of the answer to a dry run.
func addDryRun(properties map[string]any) {
	member := func(kind, description string) map[string]any {
		return map[string]any{"type": kind, "description": description}
	}
	properties["dry_run"] = member("boolean", "Nothing was changed: details says what would be done.")
	properties["preview"] = member("object", "Of a dry run: the members that the answer is expected to have, where they are known.")
	if properties["details"] == nil {
		properties["details"] = member("string", "Of a dry run: what would be done, a sentence.")
	}
}

func addJSON(files map[string][]byte, path string, value any) error {
	raw, err := json.MarshalIndent(value, "", "  ")
	files[path] = append(raw, '\n')
	return err
}

// alwaysSent lists the members that every delivered document has, whatever could
// not be read.
var alwaysSent = []string{"schema_version", "delivery_id", "success", "action", "timestamp", "hostname", "version", "agent_id", "threat_level", "threat_reasons", "firewall_status", "unavailable"}

// deliveredSchema is the schema for receivers of webhooks. It allows unknown
// members, because members may be added within a version.
func deliveredSchema(source *schema.Source) map[string]any {
	s := schema.Whole(source).Object(cli.Telemetry())
	properties := s["properties"].(map[string]any)
	properties["action"] = map[string]any{"const": "system_health"}
	properties["schema_version"] = map[string]any{"const": webhook.SchemaVersion, "description": "The version of this form. Members are added without a new one."}
	s["$schema"] = dialect
	s["$id"] = fmt.Sprintf("urn:sentinel:schema:webhook:%d", webhook.SchemaVersion)
	s["title"] = fmt.Sprintf("What sentinel --report and --webhook deliver, version %d", webhook.SchemaVersion)
	s["required"] = alwaysSent
	return s
}
