// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"sentinel/internal/answer"
	"sentinel/internal/assets"
	"sentinel/internal/firewall"
)

// An assetDocument answers get_asset_info.
type assetDocument struct {
	answer.Header
	assets.Result
}

func runAssetInfo(ctx context.Context, s session, call invocation) (document, error) {
	status := firewall.Assess(firewallFacts(ctx, s.host.Firewall))
	result, err := assets.Collect(ctx, s.host.Assets, assets.Options{
		Limit: call.capped(assets.DefaultLimit), Brief: call.brief(), Firewall: status.State,
	})
	if err != nil {
		return nil, err
	}
	return assetDocument{answer.NewHeader(call.op.Action, true), result}, nil
}
