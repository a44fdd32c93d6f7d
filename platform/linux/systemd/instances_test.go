// SPDX-License-Identifier: Apache-2.0

package systemd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManyInstancesOfATemplateAreOneRow(t *testing.T) {
	got := Fold([]string{"a@1.service", "vpn@b.service", "a@2.service", "@.service", "a@3.x.service", "vpn@a.service", "a@1.socket", "a@4.service", "web.service"})
	want := [][]string{
		{"@.service"},
		{"web.service"},
		{"a@1.service", "a@2.service", "a@3.x.service", "a@4.service"},
		{"vpn@b.service"},
		{"vpn@a.service"},
		{"a@1.socket"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
