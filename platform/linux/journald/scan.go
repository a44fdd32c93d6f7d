// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// An Entry is one entry of the journal, as far as it is needed. Its texts are valid until the next one
// is scanned.
type Entry struct {
	Realtime int64 // microseconds since 1970; 0 if there is none
	Priority int   // 0 to 7, or -1
	PID      int   // of who wrote it; 0 if unknown
	UID      int   // of the process that put it there, by the kernel; -1 if unknown
	Login    int   // who logged in for that process; 0 if nobody did, or unknown
	Owner    int   // of the session or the service manager that it is in; 0 if the system's, or unknown
	Message  []byte
	TooLong  bool // journalctl does not print the message; Message says so
	// Unit is the unit that systemd says it is about, or else that of the process that wrote it.
	Unit       []byte
	Identifier []byte
	Boot       []byte
	Kernel     bool   // the kernel wrote it
	DumpOf     int    // user of the process that died, where systemd-coredump wrote it; -1 if unknown. Anybody can send this
	Dumped     []byte // its name, which it chose
	Cut        bool   // fields may be missing: all together are longer than is read
}

// fields are what journalctl is asked for, beside the addresses of an entry that it always prints
// (systemd.journal-fields(7)). UNIT is what systemd sets where it writes about a unit. Any user can send
// that field, too, but none with a process ID that is not theirs.
const fields = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_PID,_UID,_AUDIT_LOGINUID,_SYSTEMD_OWNER_UID,_SYSTEMD_UNIT,UNIT,_TRANSPORT,COREDUMP_UID,COREDUMP_COMM"

// A scanner decodes lines of "journalctl --output=json" in one pass. A line that is cut off gives the
// members before the cut; what follows a syntax error is left out.
type scanner struct {
	line  []byte
	at    int
	text  []byte // decoded strings of the entry
	unit  []byte // of the process
	about []byte // the unit that the process says it writes about
}

// Manager is the process ID of systemd.
const Manager = 1

// scan decodes one line into e, and reports whether it is an object at all.
func (s *scanner) scan(line []byte, e *Entry) bool {
	*e = Entry{Priority: -1, UID: -1, DumpOf: -1}
	s.line, s.at, s.text, s.unit, s.about = line, 0, s.text[:0], nil, nil
	s.blanks()
	if !s.take('{') {
		return false
	}
	for {
		s.blanks()
		key, ok := s.plainString()
		s.blanks()
		if !ok || !s.take(':') {
			break
		}
		s.blanks()
		if !s.member(key, e) {
			break
		}
		s.blanks()
		if !s.take(',') {
			break
		}
	}
	e.Unit = s.unit
	if e.PID == Manager && len(s.about) > 0 {
		e.Unit = s.about
	}
	return true
}

// member reads the value of one member. It is false where nothing can follow.
func (s *scanner) member(key []byte, e *Entry) bool {
	switch string(key) {
	case "MESSAGE":
		if e.TooLong = s.tooLong(); e.TooLong {
			e.Message = tooLong
			return s.skip()
		}
		return s.value(&e.Message)
	case "SYSLOG_IDENTIFIER":
		return s.value(&e.Identifier)
	case "UNIT":
		return s.value(&s.about)
	case "_SYSTEMD_UNIT":
		return s.value(&s.unit)
	case "_BOOT_ID":
		return s.value(&e.Boot)
	case "__REALTIME_TIMESTAMP":
		n, ok := s.number()
		e.Realtime = n
		return ok
	case "_PID":
		n, ok := s.number()
		if n > 0 && n <= 1<<22 { // PID_MAX_LIMIT
			e.PID = int(n)
		}
		return ok
	case "_UID":
		return s.user(&e.UID)
	case "_AUDIT_LOGINUID":
		return s.user(&e.Login)
	case "_SYSTEMD_OWNER_UID":
		return s.user(&e.Owner)
	case "COREDUMP_UID":
		return s.user(&e.DumpOf)
	case "COREDUMP_COMM":
		return s.value(&e.Dumped)
	case "PRIORITY":
		n, ok := s.number()
		if ok && n >= 0 && n <= 7 {
			e.Priority = int(n)
		}
		return ok
	case "_TRANSPORT":
		var transport []byte
		ok := s.value(&transport)
		e.Kernel = string(transport) == "kernel"
		return ok
	}
	return s.skip()
}

// user reads the ID of a user. The last one is no user's.
func (s *scanner) user(to *int) bool {
	n, ok := s.number()
	if n >= 0 && n < 1<<32-1 {
		*to = int(n)
	}
	return ok
}

// tooLong stands for a message of more than 4 KiB (JSON_THRESHOLD of systemd).
var tooLong = []byte("(text of more than 4 KiB, not shown)")

// tooLong reports whether a message, or the first of several, is one that journalctl leaves out.
func (s *scanner) tooLong() bool {
	value := s.line[s.at:]
	if several, ok := bytes.CutPrefix(value, []byte("[")); ok {
		value = bytes.TrimLeft(several, " \t")
	}
	return bytes.HasPrefix(value, []byte("null"))
}

// number reads a decimal number in a string, as the journal has all of them. Anything else is -1.
func (s *scanner) number() (int64, bool) {
	var text []byte
	if !s.value(&text) {
		return -1, false
	}
	if len(text) == 0 || len(text) > 19 || text[0] == '+' || text[0] == '-' {
		return -1, true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return -1, true
	}
	return n, true
}

// value reads a field of the journal: a string, an array of bytes where it is not plain UTF-8, an array
// of these where the field is there several times, null where it is too long
// (systemd.io/JOURNAL_EXPORT_FORMATS). Of several, the first counts; anything else is nothing.
func (s *scanner) value(to *[]byte) bool {
	if s.at >= len(s.line) {
		return false
	}
	switch s.line[s.at] {
	case '"':
		text, ok := s.str()
		*to = text
		return ok
	case '[':
		return s.array(to, true)
	}
	return s.skip()
}

// array reads an array of bytes or, where there may be several values, the first of them.
func (s *scanner) array(to *[]byte, several bool) bool {
	s.at++
	s.blanks()
	switch {
	case s.at >= len(s.line):
		return false
	case s.take(']'):
		return true
	case several && (s.line[s.at] == '"' || s.line[s.at] == '['):
		if !s.first(to) {
			return false
		}
		for s.blanks(); s.take(','); s.blanks() {
			if s.blanks(); !s.skip() {
				return false
			}
		}
		return s.take(']')
	}
	start := len(s.text)
	for {
		n, ok := s.octet()
		if ok {
			s.text = append(s.text, n)
		} else if !s.skip() {
			break
		}
		s.blanks()
		if !s.take(',') {
			break
		}
		s.blanks()
	}
	*to = s.text[start:len(s.text):len(s.text)]
	return s.take(']')
}

func (s *scanner) first(to *[]byte) bool {
	if s.line[s.at] == '[' {
		return s.array(to, false)
	}
	text, ok := s.str()
	*to = text
	return ok
}

// octet reads a number below 256.
func (s *scanner) octet() (byte, bool) {
	n, at := 0, s.at
	for at < len(s.line) && s.line[at] >= '0' && s.line[at] <= '9' && n < 256 {
		n = 10*n + int(s.line[at]-'0')
		at++
	}
	ended := at == len(s.line) || bytes.IndexByte([]byte(",] \t"), s.line[at]) >= 0
	if at == s.at || n > 255 || !ended {
		return 0, false
	}
	s.at = at
	return byte(n), true
}

// plainString reads a string and returns it as it is written: the names of fields need no escapes.
func (s *scanner) plainString() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.at
	for {
		i := bytes.IndexByte(s.line[s.at:], '"')
		if i < 0 {
			s.at = len(s.line)
			return s.line[start:], false
		}
		s.at += i + 1
		if !escaped(s.line[start : s.at-1]) {
			return s.line[start : s.at-1], true
		}
	}
}

// escaped reports whether what follows b has a backslash before it.
func escaped(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)%2 == 1
}

// str reads a string with its escapes decoded. One that is cut off is as long as it is.
func (s *scanner) str() ([]byte, bool) {
	raw, ok := s.plainString()
	first := bytes.IndexByte(raw, '\\')
	if first < 0 {
		return raw, ok
	}
	start := len(s.text)
	for first >= 0 {
		s.text = append(s.text, raw[:first]...)
		var n int
		s.text, n = appendEscape(s.text, raw[first:])
		raw = raw[first+n:]
		first = bytes.IndexByte(raw, '\\')
	}
	s.text = append(s.text, raw...)
	return s.text[start:len(s.text):len(s.text)], ok
}

// appendEscape decodes the escape at the beginning of raw, and returns its length.
func appendEscape(out, raw []byte) ([]byte, int) {
	if len(raw) < 2 {
		return out, len(raw)
	}
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), raw[1]); i >= 0 {
		return append(out, "\"\\/\b\f\n\r\t"[i]), 2
	}
	if raw[1] != 'u' {
		return utf8.AppendRune(out, utf8.RuneError), 2
	}
	r, n := unit16(raw), min(6, len(raw))
	if utf16.IsSurrogate(r) {
		if second := unit16(raw[n:]); utf16.DecodeRune(r, second) != utf8.RuneError {
			return utf8.AppendRune(out, utf16.DecodeRune(r, second)), 12
		}
	}
	return utf8.AppendRune(out, r), n // half a pair, and what is no number, become U+FFFD
}

// unit16 decodes \uXXXX, and returns a number below 0 for anything else.
func unit16(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// skip passes over a value.
func (s *scanner) skip() bool {
	depth := 0
	for s.at < len(s.line) {
		switch s.line[s.at] {
		case '"':
			if _, ok := s.plainString(); !ok {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return true
			}
			depth--
			if depth == 0 {
				s.at++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.at++
	}
	return false
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.line) && s.line[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) blanks() {
	for s.at < len(s.line) && (s.line[s.at] == ' ' || s.line[s.at] == '\t' || s.line[s.at] == '\n' || s.line[s.at] == '\r') {
		s.at++
	}
}
