// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
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

// An sshServer is the configuration of sshd.
type sshServer struct {
	files sshdconf.Config
	// printed is what sshd -T prints: with the defaults it was built with, without
	// Match blocks. It is nil where sshd could not be asked.
	printed map[string]sshdconf.Setting
}

// sshd returns the configuration of the server.
func (m *machine) sshd(ctx context.Context) (sshServer, error) {
	return m.sshServer.Get(func() (sshServer, error) { return m.readSSHD(ctx) })
}

func (m *machine) readSSHD(ctx context.Context) (sshServer, error) {
	program := m.firstExisting("/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd")
	if program == "" {
		return sshServer{}, errNoSSH
	}
	file := m.firstExisting("/etc/ssh/sshd_config", "/usr/etc/ssh/sshd_config")
	if file == "" {
		return sshServer{}, errors.New("there is a server and no sshd_config")
	}
	files, err := sshdconf.Read(m.tree(), file)
	if err != nil {
		return sshServer{}, err
	}
	return sshServer{files: files, printed: m.askSSHD(ctx, program)}, nil
}

// askSSHD returns the settings that sshd itself prints, nil when it prints none.
// Only root may ask, because sshd reads the host keys first.
func (m *machine) askSSHD(ctx context.Context, program string) map[string]sshdconf.Setting {
	if !m.privileged() {
		return nil
	}
	r, err := m.command(ctx, sysexec.Command{Path: program, Args: []string{"-T"}, Timeout: sshdTimeout})
	if err != nil || r.Exit != 0 {
		return nil
	}
	c, err := sshdconf.Effective(r.Stdout)
	if err != nil {
		return nil
	}
	return c.Global
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

// setting returns what is in force outside of Match blocks. known is false when
// a part that could not be read may set it.
func (s sshServer) setting(keyword string) (setting sshdconf.Setting, known bool) {
	file, inFile := s.files.Global[keyword]
	printed, said := s.printed[keyword]
	switch {
	case said && inFile:
		file.Value = printed.Value
		return file, true
	case said:
		return printed, true
	case inFile:
		return file, true
	case s.printed == nil && s.files.Hole != nil:
		return sshdconf.Setting{}, false
	default:
		return sshdconf.Setting{Keyword: keyword, Value: sshDefaults()[keyword], File: "default"}, true
	}
}

// An sshRule is a rule about settings of sshd.
type sshRule struct {
	keywords []string // the first is the one that the rule is about
	judge    func(keyword string, get valueOf) audit.Status
	set      string // the line to write
}

func (r sshRule) run(ctx context.Context, m *machine) audit.Finding {
	s, err := m.sshd(ctx)
	if errors.Is(err, errNoSSH) {
		return audit.NotApplicable(err.Error())
	}
	if err != nil {
		return audit.Unread("sshd_config", err)
	}
	values := map[string]string{}
	var shown, evidence []string
	for _, keyword := range r.keywords {
		setting, known := s.setting(keyword)
		if !known {
			return audit.Unread("sshd_config", s.files.Hole)
		}
		values[keyword] = strings.ToLower(setting.Value)
		shown = append(shown, keyword+" "+setting.Value)
		evidence = append(evidence, sshEvidence(setting))
	}
	f := audit.Finding{Status: r.judge(r.keywords[0], lookup(values)), Value: strings.Join(shown, ", ")}
	r.judgeMatchBlocks(s, values, &f, &evidence)
	if f.Status == audit.Pass && s.files.Hole != nil {
		return audit.Unread("sshd_config", s.files.Hole) // a Match block may undo it
	}
	if f.Status != audit.Pass {
		f.Evidence, f.Fix = evidence, "Set "+r.set+" at the top of sshd_config; then run: sudo sshd -t && sudo systemctl reload ssh (sshd on Fedora and Red Hat)"
	}
	return f
}

// judgeMatchBlocks judges each Match block as if it held for everyone. Where it
// holds only for some, a failure is a warning.
func (r sshRule) judgeMatchBlocks(s sshServer, values map[string]string, f *audit.Finding, evidence *[]string) {
	outside := f.Status
	for _, block := range matchBlocks(s.files.Matched) {
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

func sshEvidence(s sshdconf.Setting) string {
	if s.File == "default" {
		return "default of sshd: " + s.Keyword + " " + s.Value
	}
	return s.String()
}

// sshPermissions looks at the configuration of every server that is installed.
func sshPermissions(_ context.Context, m *machine) audit.Finding {
	var wrong []string
	looked := 0
	for _, name := range []string{"/etc/ssh", "/etc/ssh/sshd_config", "/etc/ssh/sshd_config.d", "/usr/etc/ssh/sshd_config"} {
		list := []string{name}
		if strings.HasSuffix(name, ".d") {
			names, err := m.names(name, maxIncluded)
			if err != nil && !hostfile.Missing(err) {
				return audit.Unread(name, err)
			}
			for _, n := range names {
				list = append(list, filepath.Join(name, n))
			}
		}
		for _, file := range list {
			f, err := m.stat(file)
			if hostfile.Missing(err) {
				continue
			}
			if err != nil {
				return audit.Unread(file, err)
			}
			if looked++; f.UID != m.Owner || f.Mode&0o022 != 0 {
				wrong = append(wrong, audit.At(file, 0, f.String()))
			}
		}
	}
	switch {
	case m.firstExisting("/etc/ssh/sshd_config", "/usr/etc/ssh/sshd_config") == "":
		return audit.NotApplicable(errNoSSH.Error())
	case len(wrong) > 0:
		return audit.Failed("Users other than root can write it", "Make each file root's alone: sudo chown root FILE && sudo chmod go-w FILE", wrong...)
	default:
		return audit.Passed(fmt.Sprintf("%d files and folders are root's alone", looked))
	}
}
