// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"path"
	"slices"
	"strings"

	"sentinel/internal/startup"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/authkeys"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
	"sentinel/platform/unix/sshdconf"
)

const sshdConfig = "/etc/ssh/sshd_config"

// An sshdCommand is a setting of sshd_config(5) that names programs, or libraries.
type sshdCommand struct {
	name string
	as   string // the setting of the user that runs it; "" is who logs in, or sshd itself
	find func(r *shellscript.Reader, value string) []string
}

var sshdCommands = []sshdCommand{
	{"AuthorizedKeysCommand", "AuthorizedKeysCommandUser", plainCommand},
	{"AuthorizedPrincipalsCommand", "AuthorizedPrincipalsCommandUser", plainCommand},
	{"ForceCommand", "", (*shellscript.Reader).Programs},
	{"Subsystem", "", subsystem},
	{"SshdSessionPath", "", plainCommand},
	{"SshdAuthPath", "", plainCommand},
	{"XAuthLocation", "", plainCommand},
	{"SecurityKeyProvider", "", plainCommand},
}

// sshd finds what sshd runs when somebody logs in, and whose certificates let in.
func (s *survey) sshd() {
	c, err := sshdconf.Read(hostfile.Tree{Path: s.path, MaxFile: maxFile, MaxNames: maxNames}, sshdConfig)
	if err != nil {
		if !hostfile.Missing(err) {
			s.miss(sshdConfig, err)
		}
		return
	}
	if c.Hole != nil {
		s.miss(sshdConfig, c.Hole)
	}
	for _, command := range sshdCommands {
		user := ""
		if of := c.Possible(strings.ToLower(command.as)); len(of) > 0 {
			user = of[0].Value
		}
		for _, set := range c.Possible(strings.ToLower(command.name)) {
			s.sshdEntry(command, user, set)
		}
	}
	for _, set := range c.Possible("trustedusercakeys") {
		s.certifiers(set)
	}
}

// sshdEntry adds a setting, unless it runs nothing but what sshd comes with.
func (s *survey) sshdEntry(command sshdCommand, user string, set sshdconf.Setting) {
	f, ok := s.open(set.File)
	if !ok {
		return
	}
	programs := command.find(s.shell(f), set.Value)
	if comesWithSSHD(command.name, set.Value, programs) {
		return
	}
	s.add(f, startup.Entry{
		Kind: startup.PAMProgram, Name: command.name, Line: set.Line, Identity: strings.TrimSpace(command.name + " " + set.Match), Content: set.Value, When: "login", User: user,
		Detail: matchOf(set), Enabled: new(true),
	}, programs...)
}

// comesWithSSHD reports a setting that runs what sshd has in itself, or the server of SFTP beside it.
func comesWithSSHD(name, value string, programs []string) bool {
	words := strings.Fields(value)
	if name == "Subsystem" && len(words) > 0 {
		words = words[1:]
	}
	return len(words) == 0 || words[0] == "none" || words[0] == "internal-sftp" || slices.Contains(sftpServers, words[0]) && slices.Equal(programs, words[:1])
}

// sftpServers are where distributions have the one that comes with sshd.
var sftpServers = []string{
	"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server", "/usr/libexec/ssh/sftp-server", "/usr/libexec/sftp-server", "/usr/lib/misc/sftp-server", "/usr/lib64/misc/sftp-server",
}

// matchOf says whom a setting is for; "" for everybody.
func matchOf(set sshdconf.Setting) string {
	if set.Match == "" {
		return ""
	}
	return "Match " + set.Match
}

func plainCommand(r *shellscript.Reader, value string) []string {
	return r.Command(unitfile.Words(value))
}

// subsystem returns what a subsystem runs, behind its name.
func subsystem(r *shellscript.Reader, value string) []string {
	_, command, _ := strings.Cut(value, " ")
	return r.Programs(command)
}

// certifiers adds the keys whose certificates let in.
func (s *survey) certifiers(set sshdconf.Setting) {
	if !path.IsAbs(set.Value) {
		return // "none"
	}
	f, ok := s.open(set.Value)
	if !ok {
		return
	}
	keys := authkeys.Parse([]byte(s.text(f)))
	if err := keys.Unread(); err != nil {
		s.miss(f.name, err)
	}
	for _, k := range keys.Keys {
		s.add(f, startup.Entry{
			Kind: startup.AuthorizedKey, Name: strings.TrimSpace("TrustedUserCAKeys " + k.Type + " " + k.Comment), Identity: "TrustedUserCAKeys " + k.Fingerprint, Content: k.Options + " ", When: "ssh",
			Detail: strings.TrimSuffix(k.Fingerprint+", "+matchOf(set), ", "), Enabled: new(true),
		})
	}
}
