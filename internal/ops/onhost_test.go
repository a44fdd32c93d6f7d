// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"strings"
	"testing"
)

func TestCallsOfAnotherHostNameIt(t *testing.T) {
	for text, want := range map[string]string{
		"get_top_processes":                                     `get_top_processes {"host":"web1"}`,
		`get_process_details {"pid":77}`:                        `get_process_details {"host":"web1","pid":77}`,
		`See it: get_action_history {"host":"web1","last":5}`:   `See it: get_action_history {"host":"web1","last":5}`,
		`block_ip_address {"host":"db1","ip":"192.0.2.7"}`:      `block_ip_address {"host":"web1","ip":"192.0.2.7"}`,
		`get_logs {"host":"web12"}`:                             `get_logs {"host":"web1"}`,
		`get_logs {"unit":"a", "host" : "db1"}.`:                `get_logs {"host":"web1","unit":"a"}.`,
		`get_logs {value`:                                       `get_logs {"host":"web1"}value`,
		"disable_firewall, then: enable_firewall.":              `disable_firewall {"host":"web1"}, then: enable_firewall {"host":"web1"}.`,
		"unblock_ip_address, not block_ip_address":              `unblock_ip_address {"host":"web1"}, not block_ip_address {"host":"web1"}`,
		"get_top_processes, and again get_top_processes":        `get_top_processes {"host":"web1"}, and again get_top_processes {"host":"web1"}`,
		"a traceroute shows it":                                 "a traceroute shows it",
		`traceroute {"target":"x"}`:                             `traceroute {"host":"web1","target":"x"}`,
		"get_fleet_health":                                      "get_fleet_health",
		"my_get_logs and get_logs_old":                          `my_get_logs {"host":"web1"} and get_logs_old`,
		`mcp_sentinel_kill, sentinel_mcp_disable_firewall {}`:   `mcp_sentinel_kill, sentinel_mcp_disable_firewall {"host":"web1"}`,
		`terminate\_process {"pid":4}`:                          `terminate_process {"host":"web1","pid":4}`,
		`terminate&#95;process {"pid":1}`:                       `terminate_process {"host":"web1","pid":1}`,
		`terminate&#x5F;process {&quot;pid&quot;:1}`:            `terminate_process {"host":"web1","pid":1}`,
		`terminate&lowbar;process &lbrace;"host":"db1"}`:        `terminate_process {"host":"web1"}`,
		`terminate&amp;#95;process {"pid":1}`:                   `terminate_process {"host":"web1","pid":1}`,
		`get_logs &` + strings.Repeat("amp;", 9) + `#95;`:       `get_logs {"host":"web1"} ＆` + strings.Repeat("amp;", 5) + `#95;`,
		`terminate&#92;_process, get&#92;&#92;_logs`:            `terminate_process {"host":"web1"}, get_logs {"host":"web1"}`,
		`terminate\\\_process {"pid":4}`:                        `terminate_process {"host":"web1","pid":4}`,
		`sentinel \-\-kill 5 or sentinel &#45;-kill 5`:          "sentinel --host web1 --kill 5 or sentinel --host web1 --kill 5",
		"a && b, c & d":                                         "a && b, c & d",
		"sudo sentinel --top":                                   "sentinel --host web1 --top",
		`get_logs with {"unit":"a","x":{"host":"db1"}}`:         `get_logs {"host":"web1"} with {"unit":"a","x":{}}`,
		`get_logs {"HOST":"db1","host":"db2","unit":"a"}`:       `get_logs {"host":"web1","unit":"a"}`,
		`get_logs {\"host\":\"db1\"} or get_logs host=db1.`:     `get_logs {"host":"web1"} or get_logs {"host":"web1"} `,
		"get_logs {“host”: “db1”, x":                            `get_logs {"host":"web1"}  x`,
		`get_logs {"ho"host":x,st":"db1"}`:                      `get_logs {"host":"web1","ho st":"db1"}`,
		"On the host: sudo nft list ruleset":                    "On the host: sudo nft list ruleset",
		"sentinel --host=db1 --kill 5, --host  db2 --top":       "sentinel --host web1 --kill 5, --top",
		strings.Repeat("{", 20) + `"host":"db1"}`:               strings.Repeat("{", 16) + "…",
		`mcp__sentinel__terminate_process {"pid":4711}`:         `mcp__sentinel__terminate_process {"host":"web1","pid":4711}`,
		`Terminate_process {"pid":4711}`:                        `Terminate_process {"host":"web1","pid":4711}`,
		`sentinel.TERMINATE_PROCESS {"pid":4}`:                  `sentinel.TERMINATE_PROCESS {"host":"web1","pid":4}`,
		`a/get_logs b:get_logs sentinel-get_logs`:               `a/get_logs {"host":"web1"} b:get_logs {"host":"web1"} sentinel-get_logs {"host":"web1"}`,
		"terminate_process\u3000{\"pid\":4711}":                 `terminate_process {"host":"web1","pid":4711}`,
		"Traceroute {\"target\":\"x\"}":                         `Traceroute {"host":"web1","target":"x"}`,
		`get_logs {"unit":"x","y":"mcp__a__disable_firewall"}`:  `get_logs {"host":"web1","unit":"x","y":"mcp__a__disable_firewall {"host":"web1"}"}`,
		"terminate_process5 and éget_logs":                      "terminate_process5 and éget_logs",
		"Run: sudo sentinel --kill 4711":                        "Run: sentinel --host web1 --kill 4711",
		"/usr/bin/sentinel -kill 4711 && x --host web1":         "sentinel --host web1 -kill 4711 && x",
		"sentinel --kill 4711 --host=db1 --host  'db2'":         "sentinel --host web1 --kill 4711",
		"`Sentinel` '--kill' 4711, sentinel\u00a0–kill 5":       "`Sentinel --host web1 --kill' 4711, sentinel --host web1 –kill 5",
		"sentinel kill 4711; sentinel sentinel block 192.0.2.7": "sentinel --host web1 kill 4711; sentinel sentinel --host web1 block 192.0.2.7",
		"Run: sudo sentinel --doctor":                           "Run: ssh -t web1 sudo sentinel --doctor",
		"sentinel --doctor":                                     "ssh web1 sentinel --doctor",
		"sudo /opt/x/sentinel --kill 5":                         "sentinel --host web1 --kill 5",
		"Look closer with: sentinel --host db1":                 "Look closer with: sentinel --host web1",
		"sentinel there is too old; sentinel - a program":       "sentinel there is too old; sentinel - a program",
		"sentinel-mcp and sentinels --all":                      "sentinel-mcp and sentinels --all",
		"":                                                      "",
	} {
		if got := OnHost(text, "web1"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}
