// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"sentinel/internal/humanize"
	"sentinel/internal/progress"
	"sentinel/internal/updates"
)

// maxAsked bounds how many packages are queried with apt-cache: a new release of a full desktop has 3,000.
const maxAsked = 5000

// aptSources say where packages come from. Each is nil where apt-cache did not answer.
type aptSources struct {
	policies map[string]aptPolicy  // by package
	archives map[string]aptArchive // by the name that policies have for them
}

// sources queries apt-cache(8) for what is updated and what is withheld.
func (apt) sources(ctx context.Context, m machine, p *updates.Pending) aptSources {
	var from aptSources
	names := askedNames(p)
	if len(names) == 0 {
		return from
	}
	progress.Say(ctx, 40, "asking where "+humanize.Count(len(names), "package comes", "packages come")+" from")
	if r, err := m.runExtra(ctx, "/usr/bin/apt-cache", append([]string{"policy", "--"}, names...)...); err == nil && r.Exit == 0 {
		from.policies = parseAptPolicy(r.Stdout)
	}
	if r, err := m.runExtra(ctx, "/usr/bin/apt-cache", "policy"); err == nil && r.Exit == 0 {
		from.archives = parseAptArchives(r.Stdout)
	}
	return from
}

func askedNames(p *updates.Pending) []string {
	var names []string
	add := func(name string) {
		if isPackageName(name) && len(names) < maxAsked {
			names = append(names, name)
		}
	}
	for _, one := range p.Updates {
		add(one.Name)
	}
	for _, one := range p.Withheld {
		add(one.Name)
	}
	return names
}

// mark notes where each update comes from, and which of them close security holes.
func (s aptSources) mark(p *updates.Pending) {
	unknown := 0
	for i := range p.Updates {
		one := &p.Updates[i]
		archives, known := s.policies[one.Name].archivesOf(one.Candidate)
		if !known || s.archives == nil {
			unknown++
			continue
		}
		one.Origin, one.Security = s.origin(archives)
	}
	p.Security = securityNames(p.Updates)
	if unknown > 0 {
		p.Gaps.Note("security_updates", "apt-cache did not say where "+humanize.Count(unknown, "update comes", "updates come")+" from")
	}
	if unknown > 0 && unknown == len(p.Updates) {
		p.Security = nil
	}
}

// origin names the archives of a version as apt does, in their order, each once.
func (s aptSources) origin(archives []string) (string, *bool) {
	var origins []string
	security := false
	for _, name := range archives {
		archive, known := s.archives[name]
		if known && !slices.Contains(origins, archive.origin) {
			origins, security = append(origins, archive.origin), security || archive.security
		}
	}
	return strings.Join(origins, ", "), &security
}

// An aptPolicy is what apt-cache policy says of a package.
type aptPolicy struct {
	candidate string
	versions  []aptVersion // in descending order
}

// An aptVersion is a version of a package.
type aptVersion struct {
	version           string
	installed, phased bool
	archives          []string
}

func (p aptPolicy) candidatePhased() bool {
	return slices.ContainsFunc(p.versions, func(v aptVersion) bool { return v.version == p.candidate && v.phased })
}

// newer returns the archives of all versions above the installed one.
func (p aptPolicy) newer() []string {
	var archives []string
	for _, v := range p.versions {
		if v.installed {
			break
		}
		archives = append(archives, v.archives...)
	}
	return archives
}

func (p aptPolicy) archivesOf(version string) ([]string, bool) {
	at := slices.IndexFunc(p.versions, func(v aptVersion) bool { return v.version == version })
	if at < 0 {
		return nil, false
	}
	return p.versions[at].archives, true
}

// parseAptPolicy reads the output of apt-cache policy for some packages, by package. Versions are in
// descending order, the archives of each below it, further in:
//
//	name:
//	  Installed: 1.0
//	  Candidate: 1.5
//	  Version table:
//	     1.5 500 (phased 10%)
//	        500 https://deb.example.org stable/main amd64 Packages
//	 *** 1.0 100
//	        100 /var/lib/dpkg/status
func parseAptPolicy(out []byte) map[string]aptPolicy {
	policies := map[string]aptPolicy{}
	name, one := "", aptPolicy{}
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		if !strings.HasPrefix(line, " ") {
			name, one = strings.TrimSuffix(line, ":"), aptPolicy{}
			continue
		}
		one.read(line)
		policies[name] = one
	}
	return policies
}

func (p *aptPolicy) read(line string) {
	f := strings.Fields(line)
	archive, inside := strings.CutPrefix(line, "      ")
	version, installed := strings.CutPrefix(line, " *** ")
	switch {
	case len(f) == 2 && f[0] == "Candidate:":
		p.candidate = f[1]
	case inside && len(p.versions) > 0:
		last := &p.versions[len(p.versions)-1]
		last.archives = append(last.archives, archiveName(archive))
	case installed || strings.HasPrefix(line, "     "):
		if f = strings.Fields(version); len(f) >= 2 {
			p.versions = append(p.versions, aptVersion{version: f[0], installed: installed, phased: len(f) >= 3 && f[2] == "(phased"})
		}
	}
}

// archiveName drops the priority from "500 https://deb.example.org stable/main amd64 Packages", which
// differs between packages that are pinned and their archive.
func archiveName(line string) string {
	_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	return name
}

// An aptArchive is where packages come from.
type aptArchive struct {
	origin   string // as apt names it for a version: "label:release/suite", or the host without a release file
	security bool
}

// parseAptArchives reads the archives in the output of apt-cache policy, without a package. The list of
// what is installed, whose suite is "now", is none:
//
//	Package files:
//	 500 https://deb.example.org stable-security/main amd64 Packages
//	     release v=12,o=Debian,a=stable-security,n=bookworm-security,l=Debian-Security,c=main,b=amd64
//	     origin deb.example.org
func parseAptArchives(out []byte) map[string]aptArchive {
	archives := map[string]aptArchive{}
	name := ""
	for raw := range bytes.Lines(out) {
		line := strings.TrimRight(string(raw), "\r\n")
		said := strings.TrimSpace(line)
		described, release := strings.CutPrefix(said, "release ")
		host, site := strings.CutPrefix(said, "origin ")
		switch {
		case !strings.HasPrefix(line, " "): // a heading
			name = ""
		case !strings.HasPrefix(line, "     "):
			name = archiveName(line)
			archives[name] = aptArchive{origin: "localhost"}
		case name == "":
		case release && described == "a=now":
			delete(archives, name)
		case release:
			archives[name] = describedArchive(described)
		case site:
			one := archives[name]
			if label, nameless := strings.CutSuffix(one.origin, "localhost"); nameless {
				archives[name] = aptArchive{label + host, one.security}
			}
		}
	}
	return archives
}

// describedArchive reads what a release file says of an archive, "v=12,o=Debian,a=stable,...". A value may have commas.
func describedArchive(release string) aptArchive {
	fields, key := map[string]string{}, ""
	for piece := range strings.SplitSeq(release, ",") {
		if k, value, ok := strings.Cut(piece, "="); ok && len(k) == 1 {
			key, fields[k] = k, value
		} else {
			fields[key] += "," + piece
		}
	}
	suite := cmp.Or(fields["a"], "localhost")
	if fields["v"] != "" && fields["a"] != "" {
		suite = fields["v"] + "/" + suite
	}
	if fields["l"] != "" {
		suite = fields["l"] + ":" + suite
	}
	return aptArchive{suite, fromSecurity(fields["l"], fields["a"])}
}

// fromSecurity reports whether an archive is one of security updates. Debian's has its own label; those of
// Ubuntu and others have suites that end in "-security".
func fromSecurity(label, suite string) bool {
	return label == "Debian-Security" || suite == "security" || strings.HasSuffix(suite, "-security")
}

// isPackageName reports whether s is the name of a Debian package, deb-control(5), with or without
// its architecture. Anything else is never passed to a program.
func isPackageName(s string) bool {
	for i := range len(s) {
		c := s[i]
		inside := i > 0 && strings.IndexByte("+-.:", c) >= 0
		if !inside && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return len(s) > 1
}
