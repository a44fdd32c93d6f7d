// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"

	"sentinel/internal/clients"
)

// localNetworkPrivacy is the first macOS that keeps programs out of the local network
// (TN3179 of Apple). Exempt are root, jobs of launchd's system domain and what Terminal or sshd has
// started.
const localNetworkPrivacy = 15

// localNetwork says who does not reach hosts of the local network. macOS tells no
// program whether it may, and this run, mostly from Terminal, is exempt: so the finding is about a
// client that starts servers apart from itself, without its own access to the local network.
func localNetwork(ctx context.Context, t Target) []Finding {
	if t.OSVersion == nil {
		return one(Unknown, "The version of macOS is not known.", "")
	}
	name, err := t.OSVersion(ctx)
	version, known := majorVersion(name)
	switch {
	case err != nil || !known:
		return one(Unknown, "The version of macOS is not known.", "")
	case version < localNetworkPrivacy:
		return one(OK, "This macOS lets every program reach it", "")
	case !t.startsOurs(ctx, "claude-desktop"):
		return one(OK, "Open to root and to what Terminal or ssh starts", "")
	default:
		return one(Unknown, "Where Claude Desktop starts sentinel-mcp, macOS 15 and later may keep it from hosts of the local network: scan_ports, dns_lookup and send_telemetry_webhook then fail with \"no route to host\", unless they run as root.",
			"System Settings has no switch for command line programs. Run these in Terminal or over ssh, such as sentinel --scan-ports HOST, or with sudo; a client in Terminal, such as Claude Code, is not kept out.")
	}
}

// startsOurs says whether the user's configuration of a client has sentinel-mcp.
func (t Target) startsOurs(ctx context.Context, id string) bool {
	c, ok := clients.ByID(id)
	who, err := t.account(ctx)
	if !ok || err != nil {
		return false
	}
	raw, err := readOwn(t.at(c.File(clients.User{OS: t.OS, Home: who.home, Env: t.User.env})))
	if err != nil {
		return false
	}
	servers, err := c.Parse(raw)
	return err == nil && slices.ContainsFunc(servers, func(s clients.Server) bool { return clients.IsOurs(s.Program()) })
}
