// SPDX-License-Identifier: Apache-2.0

package connectscan

// confirmTries bounds how often a port is asked again at which a scan may have
// connected to itself.
const confirmTries = 64

// confirm asks again about ports where a scan of this machine may have met
// itself: a connection to a port that the kernel chose as the local port of that connection,
// or of another one that went the opposite way, succeeds although nobody listens (RFC 9293
// section 3.5, simultaneous open). open holds the local port of each connection by the port
// that accepted it; ask, which should ask for one port at a time, adds to it. The ports
// that nobody else ever accepted a connection at are taken out of open, and counted as closed.
func confirm(open map[uint16]uint16, ask func(ports []uint16) error) (closed int, err error) {
	for try := 0; ; try++ {
		var met []uint16
		for port, local := range open {
			if open[local] == port {
				met = append(met, port)
			}
		}
		for _, port := range met {
			delete(open, port)
		}
		if len(met) == 0 || try == confirmTries {
			return len(met), nil
		}
		if err := ask(met); err != nil {
			return 0, err
		}
	}
}
