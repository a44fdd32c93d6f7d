// SPDX-License-Identifier: Apache-2.0

package interfaces

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// Hosts behind a bridge or a VXLAN can pretend to be any number, and only what is asked of is listed.
func TestAddressesAreAskedOfInterfacesThatHostsDoNotFill(t *testing.T) {
	testenv.Program(t, "bridge", "iproute2")
	if !testenv.Isolated(t) {
		return
	}
	for _, command := range []string{
		"ip link add e0 type veth peer name e1", "ip link set e0 up", "ip link set e1 up",
		"bridge fdb add 02:00:00:00:00:01 dev e0 self permanent", "bridge fdb add 02:00:00:00:00:02 dev e1 self permanent",
	} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	links, err := List()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(links, func(l Link) bool { return l.Name == "e1" })
	vxlan, port, slave := slices.Clone(links), slices.Clone(links), slices.Clone(links)
	vxlan[at].Kind = KindVXLAN
	port[at].Master, slave[at].Master = 99, 99
	port, slave = append(port, Link{Index: 99, Kind: "bridge"}), append(slave, Link{Index: 99, Kind: "vrf"})
	for name, c := range map[string]struct {
		links []Link
		want  []byte // the last bytes of the addresses
	}{
		"all": {links, []byte{1, 2}}, "VXLAN": {vxlan, []byte{1}}, "port of a bridge": {port, []byte{1}}, "port of a VRF": {slave, []byte{1, 2}},
	} {
		list, err := Filters(c.links)
		var got []byte
		for _, f := range list {
			got = append(got, f.MAC[5])
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
}
