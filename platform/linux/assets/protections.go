// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"

	"sentinel/internal/assets"
	"sentinel/platform/linux/posture"
)

// Protections implements [assets.Source].
func (v *Inventory) Protections(context.Context) assets.Protections {
	p := assets.Protections{
		SecureBoot: read(v.root, posture.SecureBoot),
		AppArmor:   read(v.root, posture.AppArmor),
		SELinux:    read(v.root, posture.SELinux),
		Lockdown:   read(v.root, posture.Lockdown),
	}
	if p.AppArmor.Value != posture.Enabled {
		return p
	}
	profiles, err := posture.AppArmorProfiles(v.root)
	if err != nil {
		p.ProfilesErr = reason(err)
		return p
	}
	p.Profiles = &assets.Profiles{Enforcing: profiles.Enforcing, Complaining: profiles.Complaining}
	return p
}

func read(root string, from func(string) (string, error)) assets.Fact[string] {
	text, err := from(root)
	return fact(text, err)
}
