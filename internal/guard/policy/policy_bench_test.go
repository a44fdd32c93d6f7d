// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"testing"
)

// rules200 are rules of which ten are about the tool that is called.
func rules200() string {
	var b strings.Builder
	b.WriteString("rules:\n")
	for i := range 200 {
		server := fmt.Sprintf("server-%d", i)
		if i%20 == 0 {
			server = "*"
		}
		fmt.Fprintf(&b, "  - {name: r%d, tools: ['%s:query_*'], action: block, conditions: [{argument: sql, regex: 'DROP +TABLE +t%d'}]}\n", i, server, i)
	}
	return b.String()
}

func BenchmarkDecide200Rules(b *testing.B) {
	set := compile(b, Environment{}, rules200())
	call := Call{Method: ToolsCall, Server: "db", Name: "query_rows", Arguments: []byte(`{"sql":"SELECT a, b FROM t WHERE c = 1 LIMIT 5","limit":5}`)}
	b.ReportAllocs()
	for b.Loop() {
		if set.Decide(call).Action != Allow {
			b.Fatal("the call is forbidden")
		}
	}
}

func BenchmarkDecideAs(b *testing.B) {
	for name, condition := range map[string]string{
		"path": "{argument: a, as: path, inside: [/etc]}", "host": "{argument: a, as: host, inside: [10.0.0.0/8]}", "sql": "{argument: a, as: sql, inside: [DROP]}",
		"shell": "{argument: a, as: shell, inside: [rm]}",
	} {
		b.Run(name, func(b *testing.B) {
			set := compile(b, Environment{Dir: "/"}, rule("block", condition))
			call := Call{Method: ToolsCall, Name: "t", Arguments: []byte(`{"a":"nothing"}`)}
			b.ReportAllocs()
			for b.Loop() {
				set.Decide(call)
			}
		})
	}
}

func BenchmarkDecideWhen(b *testing.B) {
	set := compile(b, Environment{}, "rules: [{name: r, action: block, when: 'call.annotations.destructiveHint == false && call.arguments.n > 5'}]")
	call := Call{Method: ToolsCall, Name: "t", Arguments: []byte(`{"n":6}`)}
	b.ReportAllocs()
	for b.Loop() {
		set.Decide(call)
	}
}

func BenchmarkParse200Rules(b *testing.B) {
	raw := []byte(rules200())
	for b.Loop() {
		if _, err := Parse("p", raw, Environment{}); err != nil {
			b.Fatal(err)
		}
	}
}
