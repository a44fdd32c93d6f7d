// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"net"
	"os"
	"slices"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

func TestTheToolsAreListed(t *testing.T) {
	if !onMachine(t) {
		return
	}
	usual := []string{
		"allow_service", "block_ip_address", "check_updates", "disable_firewall", "enable_firewall", "get_asset_info", "get_network_stats", "get_system_health", "get_top_processes",
		"list_blocked_ips", "restart_service", "scan_ports", "security_audit", "send_telemetry_webhook", "terminate_process", "unblock_ip_address",
	}
	if len(usual) != 16 {
		t.Fatalf("%d tools by default", len(usual))
	}
	diagnostics := []string{"dns_lookup", "get_action_history", "get_containers", "get_disk_usage", "get_health_history", "get_logins", "get_logs", "get_process_details", "get_service_status", "get_startup_items", "traceroute"}
	for _, c := range []struct{ options, want []string }{
		{nil, usual},
		{[]string{"--toolsets", "default"}, usual},
		{[]string{"--toolsets", "diagnostics"}, diagnostics},
		{[]string{"--toolsets", "default,diagnostics"}, slices.Concat(usual, diagnostics)},
		{[]string{"--toolsets", "all"}, slices.Concat(usual, diagnostics)},
	} {
		got := connect(t, c.options...).Ask(assistant.Ask{}).Tools
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("with %v (-want +got):\n%s", c.options, diff)
		}
	}
}

// What the tools are for: an assistant is asked what is open, what is weak,
// what is out of date and whether a name and a way are in order.
func TestAnAssistantKnowsAMachine(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	s := connect(t, "--toolsets", "all")
	t.Run("ports", func(t *testing.T) { s.T = t; knowsPorts(t, s) })
	t.Run("names", func(t *testing.T) { s.T = t; knowsNames(t, s) })
	t.Run("ways", func(t *testing.T) { s.T = t; knowsWays(t, s) })
	t.Run("weaknesses", func(t *testing.T) { s.T = t; knowsWeaknesses(t, s) })
	t.Run("updates", func(t *testing.T) { s.T = t; knowsUpdates(t, s) })
}

func knowsPorts(t *testing.T, s *assistant.Session) {
	for _, address := range []string{own + ":8080", "127.0.0.1:9090"} {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	d := s.Call("", "scan_ports", map[string]any{"target": own, "port_range": "all"})
	if rows := d.Rows("ports"); len(rows) != 1 || rows[0].Number("port") != 8080 || rows[0].Number("pid") != os.Getpid() || rows[0].Text("bind") != own || rows[0]["exposed"] != true {
		t.Errorf("ports of %s: %v", own, d)
	}
	if d.Number("open_count") != 1 || d.Number("closed_count") != 65534 || d["complete"] != true || d["local"] != true || d.Text("engine") != "connect" {
		t.Errorf("counts: %v", d)
	}
	d = s.Call("", "scan_ports", map[string]any{"target": "localhost", "port_range": "8080,9000-9100"})
	if rows := d.Rows("ports"); d.Text("address") == "127.0.0.1" && (len(rows) != 1 || rows[0].Number("port") != 9090 || rows[0]["exposed"] != false) {
		t.Errorf("ports of localhost: %v", d)
	}
	if d := s.Call("", "scan_ports", map[string]any{"target": silent, "port_range": "1-20"}); d.Text("host") != "no answer" || d.Number("filtered_count") != 0 || d["local"] != false {
		t.Errorf("ports of the silent neighbour: %v", d)
	}
}

// names serves one zone at the address of the machine's name server.
func names(t *testing.T) {
	t.Helper()
	handle := func(w dns.ResponseWriter, question *dns.Msg) {
		m := new(dns.Msg).SetReply(question)
		q := question.Question[0]
		switch {
		case q.Name == "www.example.net." && q.Qtype == dns.TypeA:
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: q.Qtype, Class: dns.ClassINET, Ttl: 300}, A: net.IPv4(192, 0, 2, 7)}}
		case q.Name != "www.example.net.":
			m.Rcode = dns.RcodeNameError
		}
		w.WriteMsg(m)
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(handle)}
	go server.ActivateAndServe()
	t.Cleanup(func() { conn.Close() })
}

func knowsNames(t *testing.T, s *assistant.Session) {
	names(t)
	d := s.Call("", "dns_lookup", map[string]any{"name": "www.example.net"})
	if rows := d.Rows("records"); len(rows) != 1 || rows[0].Text("value") != "192.0.2.7" || rows[0].Number("ttl") != 300 || d.Text("server") != "127.0.0.1:53" {
		t.Errorf("the lookup: %v", d)
	}
}

func knowsWays(t *testing.T, s *assistant.Session) {
	for _, host := range []string{"127.0.0.1", "::1", own} {
		d := s.Call("", "traceroute", map[string]any{"target": host})
		if hops := d.Rows("hops"); d["reached"] != true || len(hops) != 1 || d.Text("address") != host {
			t.Errorf("the way to %s: %v", host, d)
		}
	}
	if d := s.Call("", "traceroute", map[string]any{"target": silent}); d["reached"] != false {
		t.Errorf("the way to the silent neighbour: %v", d)
	}
}

func knowsWeaknesses(t *testing.T, s *assistant.Session) {
	d := s.Call("", "security_audit", map[string]any{"verbose": true})
	checks, skipped := d.Rows("checks"), d.Rows("skipped")
	if len(checks)+len(skipped) < 40 || d["score"] == nil || d["coverage"] == nil {
		t.Errorf("%d checks and %d skipped, score %v, coverage %v", len(checks), len(skipped), d["score"], d["coverage"])
	}
	for _, c := range checks {
		if status := c.Text("status"); status != "PASS" && (len(c.Texts("evidence")) == 0 || c.Text("fix") == "") {
			t.Errorf("a verdict without evidence or fix: %v", c)
		}
	}
	if len(checks) == 0 {
		return
	}
	id := checks[0].Text("id")
	configure(t, "audit: {exempt: [{id: "+id+", reason: tried in a test}]}\n")
	d = s.Call("", "security_audit", map[string]any{})
	if slices.ContainsFunc(d.Rows("checks"), func(c assistant.Document) bool { return c.Text("id") == id }) {
		t.Errorf("%s is exempt and was made", id)
	}
}

func knowsUpdates(t *testing.T, s *assistant.Session) {
	testenv.Program(t, "apt-get", "apt")
	d := s.Call("", "check_updates", map[string]any{})
	for _, field := range []string{"manager", "updates_total", "security_total", "security_updates", "list_age_seconds", "reboot_required"} {
		unknown := func(gap assistant.Document) bool { return gap.Text("field") == field }
		if d[field] == nil && !slices.ContainsFunc(d.Rows("unavailable"), unknown) {
			t.Errorf("%s is neither present nor unavailable", field)
		}
	}
}
