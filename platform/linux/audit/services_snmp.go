// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

const (
	snmpConfig = "/etc/snmp/snmpd.conf"
	snmpFolder = "/etc/snmp/snmpd.conf.d" // Debian's file includes it
)

// snmpFolders are where snmpd looks for its files unless SNMPCONFPATH tells others (snmp_config(5)).
var snmpFolders = []string{
	"/etc/snmp", "/usr/share/snmp", "/usr/lib/snmp", "/usr/lib64/snmp", "/usr/local/etc/snmp", "/usr/local/share/snmp", "/root/.snmp", "/var/lib/snmp", "/var/lib/net-snmp",
}

// Bounds of what is included.
const (
	maxSNMPFiles = 256
	maxSNMPDepth = 16
)

var errManySNMPFiles = errors.New("includes more files than expected")

func snmpCommunity(_ context.Context, m *machine) audit.Finding {
	r := snmpReader{m: m, read: map[string]bool{}}
	for _, folder := range snmpFolders {
		for _, kind := range []string{snmpd, snmp} {
			r.file(folder+"/"+kind+".conf", kind, 0)
			r.file(folder+"/"+kind+".local.conf", kind, 0)
		}
	}
	r.folder(snmpFolder, snmpd, 0)
	switch {
	case len(r.wrong) > 0:
		return audit.Failed("A community that everyone knows", "Use SNMP version 3 with a user (net-snmp-create-v3-user), or another community; then: sudo systemctl restart snmpd", r.wrong...)
	case r.unread != nil:
		return audit.Unread(r.unreadFile, r.unread)
	case !r.agent:
		return audit.NotApplicable("snmpd is not here")
	default:
		return audit.Passed("None that everyone knows")
	}
}

// A snmpReader reads files of snmpd with those that they include (includeFile and includeDir of snmp_config(5)).
type snmpReader struct {
	m          *machine
	read       map[string]bool // by file and the kind that it begins with
	agent      bool            // a file of snmpd is there
	wrong      []string
	unreadFile string
	unread     error
}

func (r *snmpReader) file(name, kind string, depth int) {
	key := kind + " " + name
	if r.read[key] {
		return
	}
	raw, err := r.m.read(name)
	switch {
	case hostfile.Missing(err):
		return
	case len(r.read) >= maxSNMPFiles || depth > maxSNMPDepth:
		err = errManySNMPFiles
	}
	if err != nil {
		r.miss(name, err)
		return
	}
	r.read[key] = true
	r.agent = r.agent || kind == snmpd
	r.wrong = append(r.wrong, easyCommunities(name, kind, string(raw))...)
	for _, w := range snmpLines(string(raw), kind) {
		at := path.Join(path.Dir(name), w.words[min(1, len(w.words)-1)])
		if len(w.words) > 1 && path.IsAbs(w.words[1]) {
			at = path.Clean(w.words[1])
		}
		switch strings.ToLower(w.words[0]) {
		case "includefile", "includesearch":
			r.file(at, w.kind, depth+1)
		case "includedir":
			r.folder(at, w.kind, depth+1)
		}
	}
}

func (r *snmpReader) folder(directory, kind string, depth int) {
	names, err := r.m.names(directory, maxNames)
	if err != nil && !hostfile.Missing(err) {
		r.miss(directory, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".conf") {
			r.file(path.Join(directory, name), kind, depth)
		}
	}
}

func (r *snmpReader) miss(name string, err error) {
	if r.unread == nil {
		r.unreadFile, r.unread = name, err
	}
}

// The kinds of lines, each of which the file of its name begins with. snmpd reads the files of both, and heeds a
// section of its own in any (snmp_config(5)).
const (
	snmpd = "snmpd"
	snmp  = "snmp"
)

// A snmpLine is a line that is no comment. snmpd reads the first word in any case, and the others with or without
// quotes.
type snmpLine struct {
	number int
	text   string
	words  []string
	kind   string
}

// snmpLines reads the lines of a file. "[snmpd]" begins a section where it is alone, and is for its own line where it
// is not; a kind that snmpd does not know is for neither (read_config in snmplib/read_config.c).
func snmpLines(text, kind string) []snmpLine {
	var list []snmpLine
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		f := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(line))
		if len(f) == 0 {
			continue
		}
		section, is := snmpSection(f[0])
		switch {
		case !is:
			list = append(list, snmpLine{n, line, f, kind})
		case section == "":
		case len(f) == 1:
			kind = section
		default:
			list = append(list, snmpLine{n, line, f[1:], section})
		}
	}
	return list
}

// snmpSection is the kind that a word names in brackets, "" for one that snmpd does not know.
func snmpSection(word string) (kind string, is bool) {
	name, opened := strings.CutPrefix(strings.ToLower(word), "[")
	name, closed := strings.CutSuffix(name, "]")
	if name != snmpd && name != snmp {
		name = ""
	}
	return name, opened && closed
}

// easyCommunities returns the lines of snmpd.conf(5) with a well-known community, without those that are for this
// host alone.
func easyCommunities(file, kind, text string) []string {
	var wrong []string
	for _, l := range snmpLines(text, kind) {
		community, source := communityOf(l.words)
		if l.kind == snmpd && (community == "public" || community == "private") && !slices.Contains(thisHost, source) {
			wrong = append(wrong, audit.At(file, l.number, l.text))
		}
	}
	return wrong
}

// communityOf returns the community and the source of a line, by their places: rocommunity COMMUNITY [SOURCE],
// com2sec [-Cn CONTEXT] NAME SOURCE COMMUNITY, authcommunity TYPES COMMUNITY [SOURCE].
func communityOf(words []string) (community, source string) {
	keyword, rest := strings.ToLower(words[0]), append(words[1:len(words):len(words)], "", "", "", "", "")
	if rest[0] == "-Cn" {
		rest = rest[2:]
	}
	switch keyword {
	case "rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6":
		return rest[0], rest[1]
	case "authcommunity":
		return rest[1], rest[2]
	case "com2sec", "com2sec6":
		return rest[2], rest[1]
	default:
		return "", ""
	}
}

// thisHost are the sources that no other host has.
var thisHost = []string{"localhost", "127.0.0.1", "127.0.0.1/32", "127.0.0.0/8", "::1", "::1/128"}
