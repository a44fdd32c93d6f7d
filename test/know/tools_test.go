// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
)

func TestTheToolsOfLinuxAreListed(t *testing.T) {
	if !onMachine(t) {
		return
	}
	usual := []string{
		"block_ip_address", "check_updates", "enable_firewall", "get_asset_info", "get_network_stats", "get_system_health", "get_top_processes",
		"list_blocked_ips", "restart_service", "scan_ports", "security_audit", "terminate_process", "unblock_ip_address",
	}
	diagnostics := []string{"dns_lookup", "get_action_history", "traceroute"}
	for _, c := range []struct{ options, want []string }{
		{nil, usual},
		{[]string{"--toolsets", "default"}, usual},
		{[]string{"--toolsets", "diagnostics"}, diagnostics},
		{[]string{"--toolsets", "default,diagnostics"}, slices.Concat(usual, diagnostics)},
		{[]string{"--toolsets", "all"}, slices.Concat(usual, diagnostics)},
	} {
		got := connect(t, c.options...).ask(ask{}).Tools
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
	if !onMachine(t) {
		return
	}
	s := connect(t, "--toolsets", "all")
	t.Run("ports", func(t *testing.T) { s.t = t; knowsPorts(t, s) })
	t.Run("names", func(t *testing.T) { s.t = t; knowsNames(t, s) })
	t.Run("ways", func(t *testing.T) { s.t = t; knowsWays(t, s) })
	t.Run("weaknesses", func(t *testing.T) { s.t = t; knowsWeaknesses(t, s) })
	t.Run("updates", func(t *testing.T) { s.t = t; knowsUpdates(t, s) })
}

func knowsPorts(t *testing.T, s *session) {
	for _, address := range []string{own + ":8080", "127.0.0.1:9090"} {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	d := s.call("", "scan_ports", map[string]any{"target": own, "port_range": "all"})
	if rows := d.rows("ports"); len(rows) != 1 || rows[0].number("port") != 8080 || rows[0].number("pid") != os.Getpid() || rows[0].text("bind") != own || rows[0]["exposed"] != true {
		t.Errorf("ports of %s: %v", own, d)
	}
	if d.number("open_count") != 1 || d.number("closed_count") != 65534 || d["complete"] != true || d["local"] != true || d.text("engine") != "connect" {
		t.Errorf("counts: %v", d)
	}
	d = s.call("", "scan_ports", map[string]any{"target": "localhost", "port_range": "8080,9000-9100"})
	if rows := d.rows("ports"); d.text("address") == "127.0.0.1" && (len(rows) != 1 || rows[0].number("port") != 9090 || rows[0]["exposed"] != false) {
		t.Errorf("ports of localhost: %v", d)
	}
	if d := s.call("", "scan_ports", map[string]any{"target": silent, "port_range": "1-20"}); d.number("filtered_count") != 20 || d["local"] != false {
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

func knowsNames(t *testing.T, s *session) {
	names(t)
	d := s.call("", "dns_lookup", map[string]any{"name": "www.example.net"})
	if rows := d.rows("records"); len(rows) != 1 || rows[0].text("value") != "192.0.2.7" || rows[0].number("ttl") != 300 || d.text("server") != "127.0.0.1:53" {
		t.Errorf("the lookup: %v", d)
	}
}

func knowsWays(t *testing.T, s *session) {
	for _, host := range []string{"127.0.0.1", "::1", own} {
		d := s.call("", "traceroute", map[string]any{"host": host})
		if hops := d.rows("hops"); d["reached"] != true || len(hops) != 1 || d.text("address") != host {
			t.Errorf("the way to %s: %v", host, d)
		}
	}
	if d := s.call("", "traceroute", map[string]any{"host": silent}); d["reached"] != false {
		t.Errorf("the way to the silent neighbour: %v", d)
	}
}

func knowsWeaknesses(t *testing.T, s *session) {
	d := s.call("", "security_audit", map[string]any{})
	checks, skipped := d.rows("checks"), d.rows("skipped")
	if len(checks)+len(skipped) < 40 || d["score"] == nil || d["coverage"] == nil {
		t.Errorf("%d checks and %d skipped, score %v, coverage %v", len(checks), len(skipped), d["score"], d["coverage"])
	}
	for _, c := range checks {
		if status := c.text("status"); status != "PASS" && (len(c.texts("evidence")) == 0 || c.text("fix") == "") {
			t.Errorf("a verdict without evidence or fix: %v", c)
		}
	}
	if len(checks) == 0 {
		return
	}
	id := checks[0].text("id")
	configure(t, "audit: {exempt: [{id: "+id+", reason: tried in a test}]}\n")
	d = s.call("", "security_audit", map[string]any{})
	if slices.ContainsFunc(d.rows("checks"), func(c document) bool { return c.text("id") == id }) {
		t.Errorf("%s is exempt and was made", id)
	}
}

func knowsUpdates(t *testing.T, s *session) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("needs apt")
	}
	d := s.call("", "check_updates", map[string]any{})
	for _, field := range []string{"manager", "updates_total", "security_total", "security_updates", "list_age_seconds", "reboot_required"} {
		unknown := func(gap document) bool { return gap.text("field") == field }
		if d[field] == nil && !slices.ContainsFunc(d.rows("unavailable"), unknown) {
			t.Errorf("%s is neither told nor unavailable", field)
		}
	}
}
