// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/logs"
	"sentinel/internal/timespec"
)

// A record is one line of a file, decoded. Its texts are parts of the line.
type record struct {
	time     time.Time
	priority int
	pid      int
	host     []byte // that wrote it, where the line says so
	program  []byte
	text     []byte
}

// A reference completes times that lack a year or a zone.
type reference struct {
	end  time.Time // no line is of later than a day after it
	zone *time.Location
}

// A format decodes one line. It is false for a line that goes on with the one before it.
type format func(line []byte, ref reference) (record, bool)

// syslogLine reads what rsyslog, syslog-ng and BusyBox write: the traditional form (RFC 3164 section 4), alone or
// with the facility and the severity, the one with ISO stamps, and that of RFC 5424.
//
//	Mar  4 05:06:07 web1 sshd[812]: Failed password for root
//	Mar  4 05:06:07 web1 auth.info sshd[812]: Failed password for root
//	2026-03-04T05:06:07.123456+01:00 web1 sshd[812]: Failed password for root
//	<34>1 2026-03-04T05:06:07.123Z web1 sshd 812 - - Failed password for root
func syslogLine(line []byte, ref reference) (record, bool) {
	r := record{priority: logs.NoPriority}
	line, r.priority = syslogPriority(line)
	numbered, structured := bytes.CutPrefix(line, []byte("1 "))
	if structured {
		line = numbered
	}
	rest, ok := syslogTime(line, ref, &r)
	if !ok {
		return record{}, false
	}
	r.host, rest = word(rest)
	if structured {
		return structuredRest(r, rest), true
	}
	r.program, r.pid, r.text = tag(r.withoutFacility(rest))
	return r, true
}

// withoutFacility cuts off what the syslogd of BusyBox writes before a message, as "auth.info", and keeps the severity.
func (r *record) withoutFacility(rest []byte) []byte {
	first, message := word(rest)
	facility, level, both := bytes.Cut(first, []byte("."))
	known := severity(level)
	if !both || known == logs.NoPriority || !slices.Contains(facilities, string(facility)) {
		return rest
	}
	r.priority = known
	return message
}

// facilities are their names in syslog.h.
var facilities = []string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
	"local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
}

// syslogPriority cuts off <PRI>, which is eight times the facility and the severity.
func syslogPriority(line []byte) (rest []byte, priority int) {
	end := bytes.IndexByte(line, '>')
	if len(line) == 0 || line[0] != '<' || end < 2 || end > 4 {
		return line, logs.NoPriority
	}
	n, err := strconv.Atoi(string(line[1:end]))
	if err != nil || n < 0 || n > 191 {
		return line, logs.NoPriority
	}
	return line[end+1:], n & 7
}

// traditional is the stamp of RFC 3164, which has no year.
const traditional = "Jan _2 15:04:05"

func syslogTime(line []byte, ref reference, r *record) (rest []byte, ok bool) {
	if len(line) > len(traditional) && line[len(traditional)] == ' ' {
		if t, err := time.Parse("2006 "+traditional, "2000 "+string(line[:len(traditional)])); err == nil {
			r.time = timespec.LastYear(ref.end.AddDate(0, 0, 1), t.Month(), t.Day(), func(year int) time.Time {
				return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, ref.zone)
			})
			return line[len(traditional)+1:], true
		}
	}
	first, rest := word(line)
	t, err := time.Parse(time.RFC3339, string(first[:min(len(first), 40)]))
	r.time = t
	return rest, err == nil
}

// structuredRest reads what follows the host in RFC 5424: application, process, message id and
// structured data, each "-" where there is none.
func structuredRest(r record, rest []byte) record {
	var pid []byte
	r.program, rest = word(rest)
	pid, rest = word(rest)
	r.pid = number(pid)
	_, rest = word(rest)
	for len(rest) > 0 && rest[0] == '[' { // [id name="value with \] and blanks"]
		end := 1
		for quoted := false; end < len(rest) && (quoted || rest[end] != ']'); end++ {
			switch rest[end] {
			case '\\':
				end++
			case '"':
				quoted = !quoted
			}
		}
		rest = rest[min(end+1, len(rest)):]
	}
	rest = bytes.TrimPrefix(rest, []byte("-"))
	r.text = bytes.TrimPrefix(bytes.TrimLeft(rest, " "), []byte("\ufeff"))
	if string(r.program) == "-" {
		r.program = nil
	}
	return r
}

// tag reads "sshd[812]: text" and "kernel: text". A line without a tag is all text.
func tag(rest []byte) (program []byte, pid int, text []byte) {
	end := bytes.IndexAny(rest, ": [")
	if end <= 0 || rest[end] == ' ' {
		return nil, 0, rest
	}
	program = rest[:end]
	after := rest[end:]
	if inner, ok := bytes.CutPrefix(after, []byte("[")); ok {
		digits, behind, closed := bytes.Cut(inner, []byte{']'})
		if !closed {
			return nil, 0, rest
		}
		pid, after = number(digits), behind
	}
	return program, pid, bytes.TrimLeft(bytes.TrimPrefix(after, []byte(":")), " ")
}

// nginxError reads nginx's log of errors:
//
//	2026/03/04 05:06:07 [error] 812#812: *1 open() "/srv/x" failed (2: No such file or directory)
func nginxError(line []byte, ref reference) (record, bool) {
	const layout = "2006/01/02 15:04:05"
	if len(line) < len(layout) {
		return record{}, false
	}
	t, err := time.ParseInLocation(layout, string(line[:len(layout)]), ref.zone)
	level, rest, ok := bracketed(bytes.TrimLeft(line[len(layout):], " "))
	if err != nil || !ok {
		return record{}, false
	}
	r := record{time: t, priority: severity(level), text: rest}
	if process, text, ok := bytes.Cut(rest, []byte(": ")); ok && bytes.Contains(process, []byte("#")) {
		id, _, _ := bytes.Cut(process, []byte("#"))
		r.pid, r.text = number(id), text
	}
	return r, true
}

// apacheError reads that of Apache httpd 2.4:
//
//	[Wed Mar 04 05:06:07.123456 2026] [core:error] [pid 812:tid 140] [client 203.0.113.7:51022] AH00037: …
func apacheError(line []byte, ref reference) (record, bool) {
	stamp, rest, ok := bracketed(line)
	if !ok {
		return record{}, false
	}
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", string(stamp[:min(len(stamp), 40)]), ref.zone)
	level, rest, ok := bracketed(rest)
	if err != nil || !ok {
		return record{}, false
	}
	if _, after, of := bytes.Cut(level, []byte(":")); of {
		level = after
	}
	r := record{time: t, priority: severity(level), text: rest}
	if process, after, ok := bracketed(rest); ok && bytes.HasPrefix(process, []byte("pid ")) {
		id, _, _ := bytes.Cut(process[len("pid "):], []byte(":"))
		r.pid, r.text = number(id), after
	}
	return r, true
}

// accessLine reads the common and the combined form of requests, of one host or with the virtual host
// before it. What was asked for with a question mark is quoted, so that it counts as what differs.
//
//	203.0.113.7 - ann [04/Mar/2026:05:06:07 +0000] "GET /cart?id=5 HTTP/1.1" 404 162 "-" "curl/8"
func accessLine(line []byte, _ reference) (record, bool) {
	at := accessTime.Get().FindSubmatchIndex(line)
	if at == nil {
		return record{}, false
	}
	before := line[:at[0]]
	request, rest, quoted := cutQuoted(line[at[1]:])
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(line[at[2]:at[3]]))
	if err != nil || !quoted {
		return record{}, false
	}
	status, _ := word(bytes.TrimPrefix(rest, []byte(" ")))
	client, more := word(before)
	if next, _ := word(more); len(next) > 1 && bytes.IndexByte(next, '.')+bytes.IndexByte(next, ':') > 0 { // vhost:port client
		client = next
	}
	r := record{time: t, priority: priorityOfStatus(number(status)), program: append([]byte("access "), status[:min(len(status), 3)]...)}
	asked, protocol := request, []byte(nil)
	if i := bytes.LastIndexByte(request, ' '); i > 0 {
		asked, protocol = request[:i], request[i:]
	}
	if path, query, ok := bytes.Cut(asked, []byte("?")); ok {
		asked = append(append(append(bytes.Clone(path), ` "?`...), query...), '"')
	}
	r.text = append(append(append(bytes.Clone(asked), protocol...), " from "...), client...)
	return r, true
}

// accessTime is the time and the quote behind it. The name before it, which a client chooses, may have brackets, and no quote
// that is not escaped.
var accessTime = lazyregexp.New(` \[(\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d [-+]\d{4})\] "`)

// cutQuoted returns what stands before a quote that no backslash escapes, as Apache httpd has those in an address, and what
// follows it.
func cutQuoted(text []byte) (before, after []byte, found bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[:i], text[i+1:], true
		}
	}
	return nil, nil, false
}

// priorityOfStatus ranks a request: what the server failed at, and what it refused.
func priorityOfStatus(status int) int {
	switch {
	case status >= 500:
		return 3
	case status >= 400:
		return 5
	default:
		return 6
	}
}

// mysqlLine reads the log of errors of MySQL and of MariaDB:
//
//	2026-03-04T05:06:07.123456Z 0 [ERROR] [MY-010262] [Server] Can't start server: …
//	2026-03-04  5:06:07 0 [ERROR] mariadbd: Can't create file
func mysqlLine(line []byte, ref reference) (record, bool) {
	r := record{}
	first, rest := word(line)
	t, err := time.Parse(time.RFC3339, string(first[:min(len(first), 40)]))
	if err != nil {
		var clock []byte
		clock, rest = word(rest)
		if t, err = time.ParseInLocation("2006-01-02 15:04:05", string(first[:min(len(first), 20)])+" "+string(clock[:min(len(clock), 20)]), ref.zone); err != nil {
			return record{}, false
		}
	}
	_, rest = word(rest) // number of the thread
	level, text, ok := bracketed(rest)
	if !ok {
		return record{}, false
	}
	r.time, r.priority, r.text = t, severity(level), text
	return r, true
}

// postgresLine reads the log of PostgreSQL with a prefix that begins with a time, as %m and %t do:
//
//	2026-03-04 05:06:07.123 UTC [812] ann@shop ERROR:  relation "x" does not exist
func postgresLine(line []byte, ref reference) (record, bool) {
	day, rest := word(line)
	clock, rest := word(rest)
	zone, rest := word(rest)
	stamp := string(day[:min(len(day), 12)]) + " " + string(clock[:min(len(clock), 16)])
	at := ref.zone
	if name := string(zone); name == "UTC" || name == "GMT" || name == "Etc/UTC" {
		at = time.UTC
	}
	t, err := time.ParseInLocation("2006-01-02 15:04:05", stamp, at)
	if err != nil {
		return record{}, false
	}
	r := record{time: t, priority: 6, text: rest}
	if process, after, ok := bracketed(rest); ok {
		r.pid, r.text = number(process), after
	}
	for _, level := range postgresLevels {
		if i := bytes.Index(r.text[:min(len(r.text), 200)], []byte(level.name+":  ")); i >= 0 {
			r.priority = level.priority
			break
		}
	}
	return r, true
}

// postgresLevels are those of PostgreSQL's documentation, table 20.2, with the priorities of syslog.
var postgresLevels = []struct {
	name     string
	priority int
}{{"PANIC", 2}, {"FATAL", 3}, {"ERROR", 4}, {"WARNING", 5}, {"NOTICE", 5}}

// severities are the words for a priority in logs of services.
var severities = map[string]int{
	"emerg": 0, "alert": 1, "crit": 2, "error": 3, "err": 3, "warn": 4, "warning": 4, "notice": 5, "note": 6, "info": 6, "system": 6, "debug": 7,
}

// severity reads such a word. Those of traces, as in "trace5", are debug.
func severity(level []byte) int {
	word := bytes.ToLower(level)
	if n, ok := severities[string(word)]; ok {
		return n
	}
	if bytes.HasPrefix(word, []byte("trace")) {
		return 7
	}
	return logs.NoPriority
}

// word cuts off the first word.
func word(b []byte) (first, rest []byte) {
	first, rest, _ = bytes.Cut(b, []byte(" "))
	return first, bytes.TrimLeft(rest, " ")
}

// bracketed cuts off what stands in brackets at the beginning.
func bracketed(b []byte) (inner, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '[' {
		return nil, b, false
	}
	end := bytes.IndexByte(b, ']')
	if end < 0 {
		return nil, b, false
	}
	return b[1:end], bytes.TrimLeft(b[end+1:], " "), true
}

// number reads a process id, or 0.
func number(b []byte) int {
	if len(b) > 9 {
		return 0
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 {
		return 0
	}
	return n
}
