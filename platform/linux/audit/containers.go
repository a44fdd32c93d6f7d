// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/dockerd"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/hostfile"
)

func containerChecks() []check {
	return []check{
		{About: audit.About{
			ID: "containers.socket", Name: "Control socket of containers", Severity: audit.High, Weight: 8,
			Reference:   "CIS Docker 3.16, Lynis CONT-8108",
			Description: "Whoever may talk to Docker is root: a container can have the whole disk.",
			Formula:     "PASS when the sockets of docker, containerd, podman and CRI-O belong to root, not everyone can write them, and the group that may has no members and is no primary group of a user. FAIL when everyone can write one or its owner is not root. WARN when users are in the group. Skipped when a directory service may have members of it. Does not apply without a socket.",
		}, Run: containerSocket},
		{About: audit.About{
			ID: "containers.network", Name: "Control of containers over the network", Severity: audit.High, Weight: 8,
			Reference:   "CIS Docker 2.7",
			Description: "A control port of Docker without client certificates makes everyone who reaches it root.",
			Formula:     "PASS when neither /etc/docker/daemon.json, or the file that the service names instead, nor ExecStart of docker.service nor ListenStream of docker.socket names an address of TCP but of loopback, or client certificates are demanded (tlsverify). FAIL otherwise. Skipped where the service starts another program than dockerd. Does not apply without that file and those units.",
		}, Run: containerNetwork},
	}
}

var containerSockets = []string{"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock"}

func containerSocket(_ context.Context, m *machine) audit.Finding {
	who, err := m.users()
	if err != nil {
		return audit.Unread("accounts", err)
	}
	v := fileVerdict{okValue: "open to root alone"}
	var open, shared []string
	unknown := ""
	for _, file := range containerSockets {
		v.check(m, file, func(f hostfile.Meta) bool {
			switch {
			case f.UID != m.Owner || f.Others()&0o002 != 0:
				open = append(open, audit.At(file, 0, f.String()))
			case f.Mode.Perm()&0o020 == 0:
			case len(who.in(f.GID)) > 0:
				shared = append(shared, audit.At("/etc/group", 0, strings.Join(who.in(f.GID), ", ")+" may use "+file))
			case who.directoryService && f.GID != m.Owner:
				unknown = file
			}
			return true
		})
	}
	switch {
	case len(open) > 0:
		return audit.Failed("Users other than root can use a control socket", "Give it back to root and see what set it so: sudo chmod 0660 SOCKET; sudo chown root:docker SOCKET", open...)
	case len(shared) > 0:
		return audit.Warned("Users control containers, and with them the machine", "Take everyone who need not be root out of the group: sudo gpasswd -d USER docker; or use rootless containers.", shared...)
	case unknown != "":
		return audit.Unseen("a directory service (/etc/nsswitch.conf), which is not asked, may have users in the group of " + unknown)
	default:
		return v.finding()
	}
}

const dockerSocket = "docker.socket"

func containerNetwork(_ context.Context, m *machine) audit.Finding {
	command, failed := m.commandOf(dockerd.Unit)
	sockets, failedSocket := m.listensAt(dockerSocket)
	failed = errors.Join(failed, failedSocket)
	_, missing := m.stat(dockerd.DefaultFile)
	if len(command.lines)+len(sockets) == 0 && failed == nil && hostfile.Missing(missing) {
		return audit.NotApplicable("there is neither " + dockerd.DefaultFile + " nor a " + dockerd.Unit)
	}
	daemons, other := dockerdArguments(command)
	open, unread, err := m.allDockerOpen(daemons, sockets)
	switch {
	case len(open) > 0:
		return audit.Failed("Docker is controlled over the network without client certificates", "Remove the tcp:// address from hosts in the file, from ExecStart (sudo systemctl edit docker), or from ListenStream (sudo systemctl edit docker.socket), or set tlsverify with certificates; then: sudo systemctl restart docker", open...)
	case err != nil:
		return audit.Unread(unread, err)
	case failed != nil:
		return audit.Unread(dockerd.Unit, failed)
	case other != "":
		return audit.Unseen(dockerd.Unit + " starts " + sanitize.Quoted(other, 60) + ", which may start dockerd with any option")
	default:
		return audit.Passed("Not over the network without client certificates")
	}
}

// allDockerOpen is dockerOpen of each dockerd, and of what the files say where none is known. unread is the file of err.
func (m *machine) allDockerOpen(daemons [][]string, sockets []string) (open []string, unread string, err error) {
	if len(daemons) == 0 {
		daemons = [][]string{nil}
	}
	for _, arguments := range daemons {
		found, failed := m.dockerOpen(arguments, sockets)
		if open = append(open, found...); failed != nil && err == nil {
			unread, err = dockerd.File(arguments), failed
		}
	}
	slices.Sort(open)
	return slices.Compact(open), unread, err
}

// dockerdArguments are those of each dockerd that a service starts, also by way of a shell; other is a program that
// is none.
func dockerdArguments(command unitCommand) (daemons [][]string, other string) {
	for _, words := range command.commands() {
		if arguments, is := command.dockerd(words, 4); is {
			daemons = append(daemons, arguments)
		} else {
			other = words[0]
		}
	}
	return daemons, other
}

// dockerd finds dockerd in words, or in a word that is a command of a shell, so many levels deep.
func (c unitCommand) dockerd(words []string, levels int) (arguments []string, is bool) {
	at := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(path.Base(word), "docker") })
	if at >= 0 && !strings.ContainsAny(words[at], " \t\n") {
		return words[at+1:], true
	}
	for _, word := range words {
		inner := unitfile.Words(strings.NewReplacer("\n", " ", ";", " ", "&", " ", "|", " ", "(", " ", ")", " ").Replace(word))
		if levels > 0 && len(inner) > 1 {
			if arguments, is = c.dockerd(c.expand(inner), levels-1); is {
				return arguments, true
			}
		}
	}
	return nil, false
}

// listensAt are the addresses of streams at which systemd listens for a service (systemd.socket(5)).
func (m *machine) listensAt(socket string) (addresses []string, err error) {
	_, err = m.eachSetting(func(section, name, value string) {
		if section == "Socket" && name == "ListenStream" {
			if addresses = append(addresses, value); value == "" {
				addresses = nil
			}
		}
	}, socket)
	return addresses, err
}

// dockerOpen returns the addresses at which a dockerd answers everyone (dockerd(8)), as evidence.
func (m *machine) dockerOpen(arguments, sockets []string) ([]string, error) {
	file := dockerd.File(arguments)
	raw, err := m.read(file)
	if err != nil && !hostfile.Missing(err) {
		return nil, err
	}
	config, err := dockerd.Parse(raw)
	if err != nil {
		return nil, err
	}
	if config.TLSVerify || dockerd.TLSVerify(arguments) {
		return nil, nil
	}
	open := openIn(config, file)
	for _, host := range dockerd.Hosts(arguments) {
		if answersOthers(host) {
			open = append(open, audit.At(dockerd.Unit, 0, "-H "+host))
		}
	}
	for _, address := range sockets {
		if !strings.Contains(address, "/") && !strings.HasPrefix(address, "@") && !strings.HasPrefix(address, "vsock:") && answersOthers(address) {
			open = append(open, audit.At(dockerSocket, 0, "ListenStream="+address))
		}
	}
	return open, nil
}

// openIn returns the addresses of a file at which dockerd answers everyone, as evidence.
func openIn(config dockerd.Settings, file string) []string {
	var open []string
	for _, host := range config.Hosts {
		if answersOthers(host) && !config.TLSVerify {
			open = append(open, audit.At(file, 0, host))
		}
	}
	return open
}

// answersOthers says whether a host of dockerd is more than this one. Without a protocol it is tcp, and without an
// address localhost (ParseTCPAddr in opts/hosts.go of Docker).
func answersOthers(host string) bool {
	protocol, address, named := strings.Cut(strings.TrimSpace(host), "://")
	if !named {
		protocol, address = "tcp", host
	}
	address, _, _ = strings.Cut(address, "/")
	if name, _, err := net.SplitHostPort(address); err == nil {
		address = name
	}
	address = strings.Trim(address, "[] ")
	ip, err := netip.ParseAddr(address)
	return protocol == "tcp" && address != "" && address != "localhost" && (err != nil || !ip.IsLoopback())
}
