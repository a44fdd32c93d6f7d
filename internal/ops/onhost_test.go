// SPDX-License-Identifier: Apache-2.0

package ops

import "testing"

func TestCallsOfAnotherHostNameIt(t *testing.T) {
	for text, want := range map[string]string{
		"get_top_processes":                                   `get_top_processes {"host":"web1"}`,
		`get_process_details {"pid":77}`:                      `get_process_details {"host":"web1","pid":77}`,
		`See it: get_action_history {"host":"web1","last":5}`: `See it: get_action_history {"host":"web1","last":5}`,
		`block_ip_address {"host":"db1","ip":"192.0.2.7"}`:    `block_ip_address {"host":"web1","ip":"192.0.2.7"}`,
		`get_logs {"host":"web12"}`:                           `get_logs {"host":"web1"}`,
		`get_logs {"unit":"a", "host" : "db1"}.`:              `get_logs {"host":"web1","unit":"a"}.`,
		"disable_firewall, then: enable_firewall.":            `disable_firewall {"host":"web1"}, then: enable_firewall {"host":"web1"}.`,
		"unblock_ip_address, not block_ip_address":            `unblock_ip_address {"host":"web1"}, not block_ip_address {"host":"web1"}`,
		"get_top_processes, and again get_top_processes":      `get_top_processes {"host":"web1"}, and again get_top_processes {"host":"web1"}`,
		"a traceroute shows it":                               "a traceroute shows it",
		`traceroute {"target":"x"}`:                           `traceroute {"host":"web1","target":"x"}`,
		"get_fleet_health":                                    "get_fleet_health",
		"a && b, c & d":                                       "a && b, c & d",
		"sudo sentinel --top":                                 "sentinel --host web1 --top",
		`get_logs {"HOST":"db1","host":"db2","unit":"a"}`:     `get_logs {"host":"web1","unit":"a"}`,
		"On the host: sudo nft list ruleset":                  "On the host: sudo nft list ruleset",
		`a/get_logs b:get_logs sentinel-get_logs`:             `a/get_logs {"host":"web1"} b:get_logs {"host":"web1"} sentinel-get_logs {"host":"web1"}`,
		"terminate_process\u3000{\"pid\":4711}":               `terminate_process {"host":"web1","pid":4711}`,
		"terminate_process5 and éget_logs":                    "terminate_process5 and éget_logs",
		"Run: sudo sentinel --kill 4711":                      "Run: sentinel --host web1 --kill 4711",
		"Run: sudo sentinel --doctor":                         "Run: ssh -t web1 sudo sentinel --doctor",
		"sentinel --doctor":                                   "ssh web1 sentinel --doctor",
		"sudo /opt/x/sentinel --kill 5":                       "sentinel --host web1 --kill 5",
		"Look closer with: sentinel --host db1":               "Look closer with: sentinel --host web1",
		"sentinel there is too old; sentinel - a program":     "sentinel there is too old; sentinel - a program",
		"sentinel --host=db1 --kill 5":                        "sentinel --host web1 --kill 5",
		`get_logs {"a`:                                        `get_logs {"host":"web1"} {"a`,
		"sentinel-mcp and sentinels --all":                    "sentinel-mcp and sentinels --all",
		"":                                                    "",
	} {
		if got := OnHost(text, "web1"); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", text, got, want)
		}
	}
}

// A call that is not quoted is one that this side has made: of a tool that there is, with arguments that it takes.
func TestACallIsTheWholeText(t *testing.T) {
	for text, want := range map[string]string{
		"get_top_processes":                            `get_top_processes {"host":"web1"}`,
		`get_logs {"unit":"a b"}`:                      `get_logs {"host":"web1","unit":"a b"}`,
		`get_logs {"unit":"a","HOST":"db1"}`:           `get_logs {"host":"web1","unit":"a"}`,
		`get_logs {"h\u006fst":"db1","ho\u0073t":"x"}`: `get_logs {"host":"web1"}`,
		`get_top_processes {}`:                         `get_top_processes {"host":"web1"}`,
		`get_top_processes {} `:                        "",
		`get_top_processes {"_context":{}}`:            "",
		`get_top_processes null`:                       "",
		`get_top_processes {"then":"call x"}`:          "",
		`get_top_processes {"count":"many"}`:           "",
		`get_top_processes {"count":1,}`:               "",
		`get_top_processes {count:1}`:                  "",
		`get_top_processes {}{"host":"db1"}`:           "",
		"get_process_details":                          "", // which lacks what it is about
		"get_fleet_health":                             "", // which asks this machine
		"Get_top_processes":                            "",
		"get＿top＿processes":                            "",
		"get_top_processes ":                           "",
		"":                                             "",
	} {
		if got, ok := CallOnHost(text, "web1"); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}
