// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"errors"
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
			Formula:     "PASS when /etc/docker/daemon.json names no tcp:// address but of loopback, or demands client certificates (tlsverify). FAIL otherwise. Does not apply without that file.",
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

const dockerConfig = "/etc/docker/daemon.json"

func containerNetwork(_ context.Context, m *machine) audit.Finding {
	raw, err := m.read(dockerConfig)
	if hostfile.Missing(err) {
		return audit.NotApplicable("there is no " + dockerConfig)
	}
	if err != nil {
		return audit.Unread(dockerConfig, err)
	}
	open, err := openHosts(raw)
	if err != nil {
		return audit.Unread(dockerConfig, err)
	}
	if len(open) > 0 {
		return audit.Failed("Docker is controlled over the network without client certificates", "Remove the tcp:// address from hosts in "+dockerConfig+", or set tlsverify with certificates; then: sudo systemctl restart docker", open...)
	}
	return audit.Passed("Not over the network without client certificates")
}

// openHosts returns the addresses of a daemon.json at which dockerd answers
// everyone, as evidence.
func openHosts(raw []byte) ([]string, error) {
	var config struct {
		Hosts     []string `json:"hosts"`
		TLSVerify bool     `json:"tlsverify"`
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		return nil, errors.New("is not JSON")
	}
	var open []string
	for _, host := range config.Hosts {
		address, tcp := strings.CutPrefix(host, "tcp://")
		local := slices.ContainsFunc([]string{"127.", "localhost", "[::1]"}, func(l string) bool { return strings.HasPrefix(address, l) })
		if tcp && !local && !config.TLSVerify {
			open = append(open, audit.At(dockerConfig, 0, host))
		}
	}
	return open, nil
}
