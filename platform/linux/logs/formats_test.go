// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"testing"
	"time"
)

var ref = reference{end: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), zone: time.UTC}

var formatCases = []struct {
	name    string
	of      format
	line    string
	stamp   string // empty for a line that goes on with another
	want    int    // priority
	program string
	pid     int
	text    string
}{
	{"traditional", syslogLine, "Mar  4 05:06:07 web1 sshd[812]: Failed password for root", "2026-03-04T05:06:07Z", -1, "sshd", 812, "Failed password for root"},
	{"BusyBox", syslogLine, "Mar  4 05:06:07 web1 auth.info sshd[812]: Failed password for root", "2026-03-04T05:06:07Z", 6, "sshd", 812, "Failed password for root"},
	{"BusyBox, no PID", syslogLine, "Mar  4 05:06:07 web1 daemon.warn crond: x: y", "2026-03-04T05:06:07Z", 4, "crond", 0, "x: y"},
	{"BusyBox, no such severity", syslogLine, "Mar  4 05:06:07 web1 auth.log sshd: x", "2026-03-04T05:06:07Z", -1, "", 0, "auth.log sshd: x"},
	{"last year's", syslogLine, "Dec 31 23:59:59 web1 kernel: [ 12.3] oops", "2025-12-31T23:59:59Z", -1, "kernel", 0, "[ 12.3] oops"},
	{"leap day", syslogLine, "Feb 29 01:00:00 web1 cron: x", "2024-02-29T01:00:00Z", -1, "cron", 0, "x"},
	{"iso", syslogLine, "2026-03-04T05:06:07.123456+01:00 web1 systemd[1]: Started x.", "2026-03-04T04:06:07.123456Z", -1, "systemd", 1, "Started x."},
	{"RFC 5424", syslogLine, `<34>1 2026-03-04T05:06:07.123Z web1 su 812 ID47 [a@1 b="c\] d"][e f="g"] 'su root' failed`, "2026-03-04T05:06:07.123Z", 2, "su", 812, "'su root' failed"},
	{"RFC 5424, nothing", syslogLine, "<165>1 2026-03-04T05:06:07Z web1 - - - - text", "2026-03-04T05:06:07Z", 5, "", 0, "text"},
	{"priority", syslogLine, "<13>Mar  4 05:06:07 web1 ann: hello", "2026-03-04T05:06:07Z", 5, "ann", 0, "hello"},
	{"no tag", syslogLine, "Mar  4 05:06:07 web1 last message repeated 5 times", "2026-03-04T05:06:07Z", -1, "", 0, "last message repeated 5 times"},
	{"open bracket", syslogLine, "Mar  4 05:06:07 web1 x[5 y", "2026-03-04T05:06:07Z", -1, "", 0, "x[5 y"},
	{"continued", syslogLine, "    at java.lang.Thread.run", "", 0, "", 0, ""},
	{"empty", syslogLine, "", "", 0, "", 0, ""},
	{"no such day", syslogLine, "Feb 30 01:00:00 web1 cron: x", "", 0, "", 0, ""},

	{"nginx", nginxError, `2026/03/04 05:06:07 [error] 812#813: *1 open() "/srv/x" failed`, "2026-03-04T05:06:07Z", 3, "", 812, `*1 open() "/srv/x" failed`},
	{"nginx, no process", nginxError, "2026/03/04 05:06:07 [emerg] bind() failed", "2026-03-04T05:06:07Z", 0, "", 0, "bind() failed"},
	{"nginx, cut", nginxError, "2026/03/04 05:06", "", 0, "", 0, ""},

	{"apache", apacheError, "[Wed Mar 04 05:06:07.123456 2026] [core:error] [pid 812:tid 140] [client 203.0.113.7:51022] AH00037: no", "2026-03-04T05:06:07.123456Z", 3, "", 812, "[client 203.0.113.7:51022] AH00037: no"},
	{"apache 2.2", apacheError, "[Wed Mar 04 05:06:07 2026] [warn] old", "2026-03-04T05:06:07Z", 4, "", 0, "old"},
	{"apache, trace", apacheError, "[Wed Mar 04 05:06:07 2026] [ssl:trace3] x", "2026-03-04T05:06:07Z", 7, "", 0, "x"},

	{"combined", accessLine, `203.0.113.7 - ann [04/Mar/2026:05:06:07 +0100] "GET /cart?id=5&x=y HTTP/1.1" 404 162 "-" "curl/8"`, "2026-03-04T04:06:07Z", 5, "access 404", 0, `GET /cart "?id=5&x=y" HTTP/1.1 from 203.0.113.7`},
	{"common", accessLine, `2001:db8::7 - - [04/Mar/2026:05:06:07 +0000] "POST /x HTTP/2.0" 502 0`, "2026-03-04T05:06:07Z", 3, "access 502", 0, "POST /x HTTP/2.0 from 2001:db8::7"},
	{"virtual host", accessLine, `shop.example:443 203.0.113.7 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 5 "-" "-"`, "2026-03-04T05:06:07Z", 6, "access 200", 0, "GET / HTTP/1.1 from 203.0.113.7"},
	{"not a request", accessLine, `203.0.113.7 - - [04/Mar/2026:05:06:07 +0000] "\x16\x03" 400 5 "-" "-"`, "2026-03-04T05:06:07Z", 5, "access 400", 0, `\x16\x03 from 203.0.113.7`},
	{"brackets in the name", accessLine, `203.0.113.7 - a [b] [c [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 503 5 "-" "-"`, "2026-03-04T05:06:07Z", 3, "access 503", 0, "GET / HTTP/1.1 from 203.0.113.7"},
	{"quotes in the address", accessLine, `203.0.113.7 - "" [04/Mar/2026:05:06:07 +0000] "GET /a\" 200 HTTP/1.1\\" 503 5 "-" "-"`, "2026-03-04T05:06:07Z", 3, "access 503", 0, `GET /a\" 200 HTTP/1.1\\ from 203.0.113.7`},
	{"no access", accessLine, "hello", "", 0, "", 0, ""},

	{"MySQL", mysqlLine, "2026-03-04T05:06:07.123456Z 0 [ERROR] [MY-010262] [Server] Can't start", "2026-03-04T05:06:07.123456Z", 3, "", 0, "[MY-010262] [Server] Can't start"},
	{"MariaDB", mysqlLine, "2026-03-04  5:06:07 0 [Note] ready", "2026-03-04T05:06:07Z", 6, "", 0, "ready"},
	{"MySQL, continued", mysqlLine, "Version: '8.4'", "", 0, "", 0, ""},

	{"PostgreSQL", postgresLine, `2026-03-04 05:06:07.123 UTC [812] ann@shop ERROR:  relation "x" does not exist`, "2026-03-04T05:06:07.123Z", 4, "", 812, `ann@shop ERROR:  relation "x" does not exist`},
	{"PostgreSQL, fatal", postgresLine, "2026-03-04 05:06:07 CET [812] FATAL:  no pg_hba.conf entry", "2026-03-04T05:06:07Z", 3, "", 812, "FATAL:  no pg_hba.conf entry"},
	{"PostgreSQL, continued", postgresLine, "\tSELECT 1", "", 0, "", 0, ""},
}

func TestLinesOfFiles(t *testing.T) {
	for _, c := range formatCases {
		r, ok := c.of([]byte(c.line), ref)
		if ok != (c.stamp != "") {
			t.Errorf("%s: %q, %v", c.name, c.line, ok)
			continue
		}
		if !ok {
			continue
		}
		if got := r.time.UTC().Format(time.RFC3339Nano); got != c.stamp || r.priority != c.want || string(r.program) != c.program || r.pid != c.pid || string(r.text) != c.text {
			t.Errorf("%s: %s %d %q %d %q", c.name, got, r.priority, r.program, r.pid, r.text)
		}
	}
}

func FuzzFormats(f *testing.F) {
	for _, c := range formatCases {
		f.Add([]byte(c.line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, of := range []format{syslogLine, nginxError, apacheError, accessLine, mysqlLine, postgresLine} {
			r, ok := of(line, ref)
			if ok && (r.priority < -1 || r.priority > 7 || r.pid < 0 || len(r.text) > len(line)+20 || r.time.IsZero() && r.time.Year() != 1) {
				t.Errorf("%q: %+v", line, r)
			}
		}
	})
}
