// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getContainers = Operation{
	Name:   "get_containers",
	Action: "containers",
	Flag:   "containers",
	Title:  "Containers",
	Description: "List the containers of Docker, Podman, systemd-nspawn and LXC: state, restarts and why the last run ended, health, limits against use, published ports, age of the image. " +
		"Use when a service in a container fails or restarts, or when user asks what runs in containers. " +
		"Those with a problem come first. Changes nothing." + dataOnly,
	Usage:      "containers: state, restarts and why, health, limits, ports",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantState,
	Deadline:   20 * time.Second,
	Lists:      true,
}
