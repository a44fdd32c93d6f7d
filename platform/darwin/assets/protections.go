// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"

	"sentinel/internal/assets"
)

// Protections implements [assets.Source].
func (v *Inventory) Protections(ctx context.Context) assets.Protections {
	v.begin(ctx)
	boot, bootErr := v.boot()
	sip, sipErr := v.sip()
	vault, vaultErr := v.vault()
	p := assets.Protections{
		SecureBoot: fact(boot.SecureBoot, bootErr),
		Mac:        &assets.MacProtections{FileVault: fact(string(vault.State), vaultErr)},
	}
	p.Mac.SIP.Err = sipErr
	if sipErr == nil {
		p.Mac.SIP.Value = &sip.Enabled
	}
	on, err := v.gatekeeper()
	switch {
	case err != nil:
		p.Mac.Gatekeeper.Err = err
	case on:
		p.Mac.Gatekeeper.Value = "enabled"
	default:
		p.Mac.Gatekeeper.Value = "disabled"
	}
	return p
}
