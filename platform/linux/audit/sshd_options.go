// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"path"
	"slices"

	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/sshdconf"
)

// sshdOptions are the options that the service of the server starts it with (sshd(8)), which count more than its file.
type sshdOptions struct {
	file string // -f, "" for the one that it was built with
	set  []sshdconf.Setting
}

// sshdUnits are the names of the service on Debian and elsewhere, sshdTemplates those of the one that systemd starts
// for each connection (systemd.socket(5), Accept).
var (
	sshdUnits     = []string{"ssh.service", "sshd.service"}
	sshdTemplates = []string{"ssh@.service", "sshd@.service"}
)

// errSSHDOption says that a server has an option that is not passed on to sshd -T.
var errSSHDOption = errors.New("sshd has an option that cannot be judged")

// sshdOptions are those of the service.
func (m *machine) sshdOptions() (sshdOptions, error) {
	command, err := m.commandOf(sshdUnits...)
	if err != nil {
		return sshdOptions{}, err
	}
	if len(command.lines) > 0 {
		return optionsOf(command.name, command.arguments())
	}
	for _, file := range []string{"/etc/default/ssh", "/etc/conf.d/sshd"} { // of scripts in init.d, of OpenRC
		text, err := m.optionalText(file)
		if err != nil {
			return sshdOptions{}, err
		}
		c := unitCommand{environment: map[string]string{}}
		if c.take(text); c.environment["SSHD_OPTS"] != "" {
			return optionsOf(file, [][]string{unitfile.Words(c.environment["SSHD_OPTS"])})
		}
	}
	return sshdOptions{}, nil
}

// sshdFlags are the options of sshd without a value (sshd.c of OpenSSH).
const sshdFlags = "46DGQRTdeiqrtV"

// optionsOf reads the arguments of sshd: the first of two options counts, as for its file.
func optionsOf(where string, commands [][]string) (sshdOptions, error) {
	var o sshdOptions
	for _, arguments := range commands {
		for _, file := range unitfile.Options(arguments, sshdFlags, "f", "") {
			if o.file = file; !path.IsAbs(file) {
				return o, errSSHDOption
			}
		}
		for _, option := range unitfile.Options(arguments, sshdFlags, "o", "") {
			setting, ok := sshdconf.Option(where, option)
			if !ok {
				return o, errSSHDOption
			}
			o.set = append(o.set, setting)
		}
	}
	return o, nil
}

// arguments has sshd -T print what is in force with the same options.
func (o sshdOptions) arguments() []string {
	args := []string{"-T"}
	if o.file != "" {
		args = append(args, "-f", o.file)
	}
	for _, s := range o.set {
		args = append(args, "-o", s.Keyword+"="+s.Value)
	}
	return args
}

// over puts the options before what the files set.
func (o sshdOptions) over(files sshdconf.Config) {
	for _, s := range slices.Backward(o.set) {
		files.Global[s.Keyword] = s
	}
}
