// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"

	"sentinel/internal/audit"
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
			Formula:     "PASS when neither /etc/docker/daemon.json nor ExecStart of docker.service names an address of TCP but of loopback, or client certificates are demanded (tlsverify). FAIL otherwise. Does not apply without that file and that service.",
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

const (
	dockerConfig = "/etc/docker/daemon.json"
	dockerUnit   = "docker.service"
)

func containerNetwork(_ context.Context, m *machine) audit.Finding {
	command, failed := m.commandOf(dockerUnit)
	raw, err := m.read(dockerConfig)
	switch {
	case hostfile.Missing(err) && len(command.lines) == 0 && failed == nil:
		return audit.NotApplicable("there is neither " + dockerConfig + " nor a " + dockerUnit)
	case err != nil && !hostfile.Missing(err):
		return audit.Unread(dockerConfig, err)
	}
	config, err := parseDockerConfig(raw)
	if err != nil {
		return audit.Unread(dockerConfig, err)
	}
	if open := append(config.open(), openArguments(command, config)...); len(open) > 0 {
		return audit.Failed("Docker is controlled over the network without client certificates", "Remove the tcp:// address from hosts in "+dockerConfig+" or from ExecStart (sudo systemctl edit docker), or set tlsverify with certificates; then: sudo systemctl restart docker", open...)
	}
	if failed != nil {
		return audit.Unread(dockerUnit, failed)
	}
	return audit.Passed("Not over the network without client certificates")
}

// A dockerSettings is what a daemon.json says of control.
type dockerSettings struct {
	Hosts     []string `json:"hosts"`
	TLSVerify bool     `json:"tlsverify"`
}

// parseDockerConfig reads a daemon.json; an empty one says nothing.
func parseDockerConfig(raw []byte) (dockerSettings, error) {
	var config dockerSettings
	if len(raw) > 0 && json.Unmarshal(raw, &config) != nil {
		return config, errors.New("is not JSON")
	}
	return config, nil
}

// open returns the addresses at which dockerd answers everyone, as evidence.
func (c dockerSettings) open() []string {
	var open []string
	for _, host := range c.Hosts {
		if answersOthers(host) && !c.TLSVerify {
			open = append(open, audit.At(dockerConfig, 0, host))
		}
	}
	return open
}

// openArguments returns those that the service has dockerd answer at (dockerd(8), -H).
func openArguments(command unitCommand, config dockerSettings) []string {
	var open []string
	for _, arguments := range command.arguments() {
		verifies := config.TLSVerify || slices.Contains(arguments, "--tlsverify") || slices.Contains(arguments, "--tlsverify=true")
		for _, host := range options(arguments, "H", "host") {
			if answersOthers(host) && !verifies {
				open = append(open, audit.At(dockerUnit, 0, "-H "+host))
			}
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
