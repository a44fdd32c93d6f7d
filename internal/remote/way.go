// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"net/url"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
)

// refused returns the error for a host that gave no answer. Where the connection ended before it had spoken, a host
// on the way there may be why.
func (c *Carrier) refused(ctx context.Context, host string, r reply) *fault.Error {
	if bytes.Contains(r.said, []byte(closedEarly)) {
		if e := c.onTheWay(ctx, host); e != nil {
			return e
		}
	}
	return refusal(host, r)
}

// onTheWay returns what is wrong with the hosts that a host is reached through (ProxyJump); nil where nothing
// is, or is known. Each is asked for the connection that ssh would have of it: the ssh that ssh runs for that has no
// messages of its own, but writes them where the jump host can write, too. Nothing runs on any of them.
func (c *Carrier) onTheWay(ctx context.Context, host string) *fault.Error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	alone := *c
	alone.sockets = ""
	target, hops := alone.route(ctx, host)
	for i, hop := range hops {
		options := []string{"-W", target}
		if i > 0 {
			options = append(options, "-o", "ProxyJump="+strings.Join(hops[:i], ","))
		}
		r, err := alone.run(ctx, alone.with(options, "ssh://"+hop), maxUsual)
		if reason, line := complaintOf(r.said); err == nil && line != "" && !strings.HasPrefix(line, closedEarly) {
			reason.what = "is reached through another host, which " + reason.what
			return reason.error(host, nameOf(hop), line)
		}
	}
	return nil
}

// with is a run of ssh with options of its own, and no command.
func (c *Carrier) with(options []string, host string) sysexec.Command {
	command := c.command(host, nil, nil, nil)
	command.Args = append(options, command.Args...)
	return command
}

// route returns the address of a host, as an argument of -W, and what is between here and there, nearest first.
func (c *Carrier) route(ctx context.Context, host string) (target string, hops []string) {
	r, err := c.run(ctx, c.with([]string{"-G"}, host), maxUsual)
	if err != nil {
		return "", nil
	}
	values := map[string]string{}
	for line := range strings.Lines(string(r.Stdout)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		values[key] = value
	}
	if jump := values["proxyjump"]; jump != "" && jump != "none" {
		hops = strings.Split(jump, ",")
	}
	return "[" + values["hostname"] + "]:" + values["port"], hops
}

// nameOf is how the known hosts and a person name a host of ProxyJump.
func nameOf(hop string) string {
	if u, err := url.Parse("ssh://" + hop); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return hop
}
