// SPDX-License-Identifier: Apache-2.0

package remotedesktop

import "testing"

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"Xvnc": true, "gnome-remote-desktop-daemon": true, "gnome-remote-de": true, "gnome-remote": false, "Xorg": false, "": false} {
		if Is(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}
