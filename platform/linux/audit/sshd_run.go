// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/sshdconf"
)

// sshdTimeout bounds sshd -T, which takes some ten milliseconds.
const sshdTimeout = 4 * time.Second

// maxIncluded bounds the names in an included directory.
const maxIncluded = 1024

// errNoSSH says that there is no SSH server to judge.
var errNoSSH = errors.New("no SSH server is installed")

// readSSHD returns the settings of the server with the options that it is started with.
func (m *machine) readSSHD(ctx context.Context, program string, options sshdOptions) (sshdconf.Server, error) {
	file := cmp.Or(options.file, m.sshdConfig())
	if file == "" {
		return sshdconf.Server{}, errors.New("there is a server and no sshd_config")
	}
	files, err := sshdconf.Read(m.tree(), file)
	if err != nil {
		return sshdconf.Server{}, err
	}
	options.over(files)
	s := sshdconf.Server{Files: files}
	if m.privileged() {
		s.Printed = sshdconf.Printed(m.command(ctx, sysexec.Command{Path: program, Args: options.arguments(), Timeout: sshdTimeout}))
	}
	return s, nil
}

// sshdConfig is the file of a server that is told none, "" where there is none.
func (m *machine) sshdConfig() string {
	return m.firstExisting("/etc/ssh/sshd_config", "/usr/etc/ssh/sshd_config")
}

// firstExisting returns the first of the names that exists, "" for none.
func (m *machine) firstExisting(names ...string) string {
	for _, name := range names {
		if m.exists(name) {
			return name
		}
	}
	return ""
}

// An sshRule is a rule about settings of sshd.
type sshRule struct {
	keywords []string // the first is the one that the rule is about
	judge    func(keyword string, get valueOf) audit.Status
	set      string // the line to write
}

// run judges every server; the worst of them counts.
func (r sshRule) run(ctx context.Context, m *machine) audit.Finding {
	servers := m.sshServers(ctx).list
	if len(servers) == 0 {
		return audit.NotApplicable(errNoSSH.Error())
	}
	findings := make([]audit.Finding, len(servers))
	for i, s := range servers {
		findings[i] = r.of(s)
	}
	return slices.MaxFunc(findings, func(a, b audit.Finding) int { return cmp.Compare(gravity(a), gravity(b)) })
}

// gravity puts what is not known before what is good.
func gravity(f audit.Finding) int {
	return slices.Index([]audit.Status{audit.Pass, "", audit.Warn, audit.Fail}, f.Status)
}

func (r sshRule) of(s sshServer) audit.Finding {
	if s.err != nil {
		return audit.Unread(cmp.Or(s.command, "sshd_config"), s.err)
	}
	f := r.judgeSettings(s.Server)
	if s.command != "" && f.Status != audit.Pass {
		f.Value, f.Fix = f.Value+"; of "+s.command, "Set "+r.set+" for it, or stop it: sudo kill "+strconv.Itoa(s.pid)
	}
	return f
}

func (r sshRule) judgeSettings(s sshdconf.Server) audit.Finding {
	values := map[string]string{}
	var shown, evidence []string
	for _, keyword := range r.keywords {
		setting, known := s.Setting(keyword, sshDefaults()[keyword])
		if !known {
			return audit.Unread("sshd_config", s.Files.Hole)
		}
		values[keyword] = strings.ToLower(setting.Value)
		shown = append(shown, keyword+" "+setting.Value)
		evidence = append(evidence, setting.String())
	}
	f := audit.Finding{Status: r.judge(r.keywords[0], lookup(values)), Value: strings.Join(shown, ", ")}
	r.judgeMatchBlocks(s, values, &f, &evidence)
	if f.Status == audit.Pass && s.Files.Hole != nil {
		return audit.Unread("sshd_config", s.Files.Hole) // a Match block may undo it
	}
	if f.Status != audit.Pass {
		f.Evidence, f.Fix = evidence, "Set "+r.set+" at the top of sshd_config; then run: sudo sshd -t && sudo systemctl reload ssh (sshd on Fedora and Red Hat)"
	}
	return f
}

// judgeMatchBlocks judges each Match block as if it held for everyone. Where it
// holds only for some, a failure is a warning.
func (r sshRule) judgeMatchBlocks(s sshdconf.Server, values map[string]string, f *audit.Finding, evidence *[]string) {
	outside := f.Status
	for _, block := range matchBlocks(s.Files.Matched) {
		inside, set := maps.Clone(values), map[string]bool{}
		var lines []string
		for _, setting := range block {
			if _, ours := values[setting.Keyword]; ours && !set[setting.Keyword] {
				inside[setting.Keyword], set[setting.Keyword] = strings.ToLower(setting.Value), true
				lines = append(lines, setting.String())
			}
		}
		verdict := r.judge(r.keywords[0], lookup(inside))
		if len(lines) == 0 || worse(verdict, outside) == outside {
			continue
		}
		if !strings.EqualFold(block[0].Match, "all") {
			verdict = audit.Warn
		}
		f.Status = worse(f.Status, verdict)
		f.Value = "otherwise in a Match block: " + lines[0]
		*evidence = append(lines, *evidence...)
	}
}

func lookup(values map[string]string) valueOf {
	return func(keyword string) string { return values[keyword] }
}

// matchBlocks splits the settings of Match blocks into the blocks. The first setting of
// a keyword in a block counts.
func matchBlocks(settings []sshdconf.Setting) [][]sshdconf.Setting {
	var list [][]sshdconf.Setting
	for i, s := range settings {
		if i == 0 || s.Match != settings[i-1].Match || s.File != settings[i-1].File {
			list = append(list, nil)
		}
		at := len(list) - 1
		list[at] = append(list[at], s)
	}
	return list
}

// sshPermissions looks at the configuration of every server that is installed, and at what leads to each file that
// sshd reads.
func sshPermissions(ctx context.Context, m *machine) audit.Finding {
	v := fileVerdict{}
	places := []string{"/etc/ssh", "/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d", "/usr/etc/ssh/sshd_config"}
	names, err := m.names(places[2], maxIncluded)
	if err != nil && !hostfile.Missing(err) {
		v.noteUnread(places[2], err)
	}
	for _, name := range names {
		places = append(places, filepath.Join(places[2], name))
	}
	for _, server := range m.sshServers(ctx).list {
		places = append(places, server.Files.Places...)
		if err := cmp.Or(server.err, server.Files.Hole); err != nil && !hostfile.Missing(err) {
			v.noteUnread(cmp.Or(server.command, "sshd_config"), err)
		}
	}
	seen := 0
	for _, place := range once(places) {
		before := v.seen
		v.check(m, place, func(f hostfile.Meta) bool { return f.UID == m.Owner && f.Mode&0o022 == 0 })
		v.checkPath(m, place)
		seen += min(1, v.seen-before)
	}
	switch {
	case m.sshdConfig() == "":
		return audit.NotApplicable(errNoSSH.Error())
	case len(v.wrong) > 0:
		return audit.Failed("Users other than root can write it", "Make each file and folder root's alone: sudo chown root FILE && sudo chmod go-w FILE").With(v.wrong...)
	case v.unread != nil:
		return audit.Unread("sshd_config", v.unread)
	default:
		return audit.Passed(fmt.Sprintf("%d files and folders are root's alone", seen))
	}
}

// once returns the list without what is in it a second time.
func once(list []string) []string {
	var all []string
	for _, one := range list {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}
