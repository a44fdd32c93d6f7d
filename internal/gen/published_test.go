// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/schema"
	"sentinel/internal/webhook"
)

var update = flag.Bool("update", false, "add new members to the frozen ones")

// The members of a schema version, with their types, are frozen, so that readers
// keep working. -update adds new members and nothing else; removing or changing one
// needs a new webhook.SchemaVersion, and so a new file.
func TestAMemberNeverGoesOrChangesWithinAVersion(t *testing.T) {
	file := filepath.Join("testdata", fmt.Sprintf("webhook-v%d.members", webhook.SchemaVersion))
	now := map[string]string{}
	members("", deliveredSchema(schema.NewSource(root)), now)
	frozen, err := readMembers(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, broken := range breaks(frozen, now) {
		t.Errorf("%s: that needs a new webhook.SchemaVersion", broken)
	}
	if *update && !t.Failed() {
		writeMembers(t, file, now)
		return
	}
	for name := range now {
		if frozen[name] == "" {
			t.Errorf("%s is new; run: make golden", name)
		}
	}
}

// breaks lists the differences that would break readers of the frozen form.
func breaks(frozen, now map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(frozen)) {
		switch is := now[name]; is {
		case frozen[name]:
		case "":
			list = append(list, name+" is gone")
		default:
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, frozen[name], is))
		}
	}
	return list
}

// members adds each member below a schema by its path, with its type, its values
// where they are a closed set, and whether it is always present.
func members(path string, schema map[string]any, into map[string]string) {
	if items, ok := schema["items"].(map[string]any); ok {
		member(path+"[]", items, false, into)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		member(path+".*", values, false, into)
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]string)
	for name, one := range properties {
		member(strings.TrimPrefix(path+"."+name, "."), one.(map[string]any), slices.Contains(required, name), into)
	}
}

func member(path string, schema map[string]any, always bool, into map[string]string) {
	text := fmt.Sprint(schema["type"])
	if value, ok := schema["const"]; ok {
		text = fmt.Sprintf("%T %v", value, value)
	}
	if values, ok := schema["enum"].([]string); ok {
		text += " " + strings.Join(values, "|")
	}
	if format, ok := schema["format"].(string); ok {
		text += " " + format
	}
	if always {
		text += ", always"
	}
	into[path] = text
	members(path, schema, into)
}

func readMembers(file string) (map[string]string, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), ": ")
		list[name] = kind
	}
	return list, nil
}

func writeMembers(t *testing.T, file string, list map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(&b, "%s: %s\n", name, list[name])
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWhatBreaksReadersIsSeen(t *testing.T) {
	now := map[string]string{}
	members("", deliveredSchema(schema.NewSource(root)), now)
	for name, kind := range map[string]string{
		"schema_version": "int 1, always", "delivery_id": "string, always", "tags.*": "string", "cpu.per_core[]": "number", "disks[].mountpoint": "string",
		"firewall_status": "string ACTIVE|DISABLED|UNKNOWN, always", "threat_reasons[].code": "string", "timestamp": "string, always",
	} {
		if now[name] != kind {
			t.Errorf("%s is %q, want %q", name, now[name], kind)
		}
	}
	frozen := maps.Clone(now)
	frozen["was_here"], frozen["cpu.percent"], frozen["agent_uuid"] = "string", "string", "string, always"
	delete(frozen, "tags")
	want := []string{"agent_uuid was string, always and is string", "cpu.percent was string and is number", "was_here is gone"}
	if got := breaks(frozen, now); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
