// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"sentinel/internal/config"
	"sentinel/internal/jsonrpc"
	"sentinel/internal/ops"
	"sentinel/internal/remote"
	"sentinel/internal/sysexec"
)

// hostKey is the argument of every tool that names another machine, where there are some.
const hostKey = "host"

// otherHosts are the machines that the command line names, or else the configuration. One that cannot
// be used names none; every call says so.
func otherHosts(named []string, log *slog.Logger) []string {
	if len(named) > 0 {
		return named
	}
	c, err := config.Load(config.DefaultPath, false)
	if err != nil {
		log.Error("no other machine is on offer", "error", err)
	}
	return c.Hosts
}

// inputSchema is that of an operation with the hosts that a call can name.
func inputSchema(op ops.Operation, hosts []string) json.RawMessage {
	own := op.InputSchema()
	if len(hosts) == 0 || op.OfFleet() {
		return own
	}
	var schema map[string]any
	if err := json.Unmarshal(own, &schema); err != nil {
		panic("mcpserver: the schema of a tool is no object: " + err.Error())
	}
	schema["properties"].(map[string]any)[hostKey] = map[string]any{
		"type": "string", "enum": hosts, "description": "Other machine to run it on; calls that its answer names have it already",
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("mcpserver: a schema cannot be encoded: " + err.Error())
	}
	return raw
}

// takeHost takes the host out of the arguments of a call. It is one of those on offer, whatever a
// model sends.
func (h *handler) takeHost(op ops.Operation, arguments json.RawMessage) (host string, rest json.RawMessage, err error) {
	members, ok := jsonrpc.ParseObject(arguments)
	if !ok || members.Get(hostKey) == nil || len(h.hosts) == 0 || op.OfFleet() {
		return "", arguments, nil // what is wrong is said later
	}
	host, ok = jsonrpc.Text(members.Get(hostKey))
	if !ok || !slices.Contains(h.hosts, host) {
		return "", nil, &ops.ArgumentError{
			Message: "host must be one of " + strings.Join(h.hosts, ", ") + ".",
			Fix:     "Send one of these, or leave it out for the machine that sentinel-mcp runs on.",
		}
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range members {
		if m.Name == hostKey {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", quote(m.Name), m.Value)
	}
	b.WriteByte('}')
	return host, b.Bytes(), nil
}

// start runs sentinel for a call: here, with the privilege that helps, or such that it runs itself on
// other machines, with what the user has for ssh.
func (h *handler) start(ctx context.Context, c checked, stdin []byte) (sysexec.Result, error) {
	names := []string{c.host}
	switch {
	case c.op.OfFleet():
		names = h.hosts
	case c.host == "":
		return h.sudo.run(ctx, c.op, c.path, stdin)
	}
	run := command(c.op, c.path, stdin)
	run.Args = append([]string{"--host", strings.Join(names, ",")}, run.Args...)
	run.Env = remote.Environment(os.Environ())
	run.OnStderrLine = trackerOf(ctx).listener(c.op)
	return h.sudo.runner.Run(ctx, run)
}

// historyOf is the command that tells what was changed on a machine.
func historyOf(host string) string {
	if host == "" {
		return "sudo sentinel --history"
	}
	return "sentinel --host " + host + " --history"
}
