// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"sentinel/internal/blocklist"
	"sentinel/internal/firewall"
	"sentinel/internal/sanitize"
)

// The checks of the form of arguments, for operations that need root. They look at nothing but the
// text, so that they tell nobody what only root can see.

func formOfAddress(_ session, call invocation) error {
	ip := call.args.Text("ip")
	if _, err := blocklist.ParseAddress(ip); err != nil {
		return about(err, addressObject{sanitize.Text(ip, 45)})
	}
	return nil
}

func formOfBlock(s session, call invocation) error {
	if err := formOfAddress(s, call); err != nil {
		return err
	}
	if _, err := blocklist.ParseTTL(call.args.Text("ttl")); err != nil {
		return about(err, addressObject{sanitize.Text(call.args.Text("ip"), 45)})
	}
	return nil
}

func formOfKeptOpen(_ session, call invocation) error {
	_, err := keptOpen(call)
	return err
}

func formOfServices(_ session, call invocation) error {
	_, err := firewall.ParseServices(call.args.Text("services"))
	return err
}

func formOfService(s session, call invocation) error {
	name := call.args.Text("service")
	if _, err := s.host.Services.Kind().CheckName(name); err != nil {
		return about(err, serviceObject{sanitize.Text(name, 255)})
	}
	return nil
}
