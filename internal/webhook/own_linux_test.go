// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net"
	"testing"
	"time"

	"sentinel/internal/config"
	"sentinel/internal/target"
	"sentinel/internal/testenv"
	"sentinel/internal/testenv/testnet"
)

// Load balancers and overlays have a machine take whole networks that are on none of its interfaces.
func TestAddressesThatAreRoutedToThisMachineAreItsOwn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testnet.ThisHost(t).Run("ip link set lo up")
	testnet.ThisHost(t).Run("ip route add local 198.51.100.0/24 dev lo")
	l, err := net.Listen("tcp4", "0.0.0.0:443")
	must(t, err)
	defer l.Close()
	u, err := target.ParseURL("https://hooks.example.com/")
	must(t, err)
	c := NewClient(Unlisted(u, config.Default().Webhook), "", names(t, "198.51.100.7"))
	defer c.Close()
	if got := c.Deliver(t.Context(), document); !got.OwnMachine || got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
	must(t, l.(*net.TCPListener).SetDeadline(time.Now()))
	if conn, err := l.Accept(); err == nil {
		t.Errorf("%v connected", conn.RemoteAddr())
	}
}
