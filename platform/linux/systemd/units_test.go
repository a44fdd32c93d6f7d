// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"slices"
	"testing"
)

func TestSocketUnitsListenOnStreams(t *testing.T) {
	value := [][]any{{"Stream", "[::]:22"}, {"Datagram", "[::]:23"}, {"Stream"}, {"Stream", 24}, {"Stream", "192.0.2.1:25"}}
	if got := streams(value); !slices.Equal(got, []string{"[::]:22", "192.0.2.1:25"}) {
		t.Errorf("got %q", got)
	}
	if got := streams("22"); got != nil {
		t.Errorf("another type: %q", got)
	}
}
