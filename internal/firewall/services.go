// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/editdistance"
	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// maxServices is how many services one call may name.
const maxServices = 32

// wellKnown are the services that have a name here, with the ports that IANA has assigned to them
// or, for WireGuard, that its documentation uses. It is no copy of /etc/services: that file
// lists UDP for almost everything, and what is let in is no more than the service needs.
var wellKnown = map[string]string{
	"amqp": "5672/tcp", "dhcp": "67/udp", "dns": "53/tcp 53/udp", "domain": "53/tcp 53/udp", "domain-s": "853/tcp", "ftp": "21/tcp", "git": "9418/tcp",
	"http": "80/tcp", "https": "443/tcp", "imap": "143/tcp", "imaps": "993/tcp", "ipp": "631/tcp", "kerberos": "88/tcp 88/udp",
	"ldap": "389/tcp", "ldaps": "636/tcp", "mdns": "5353/udp", "mqtt": "1883/tcp", "mqtts": "8883/tcp", "mysql": "3306/tcp", "nfs": "2049/tcp", "ntp": "123/udp",
	"openvpn": "1194/udp", "pop3": "110/tcp", "pop3s": "995/tcp", "postgresql": "5432/tcp", "rdp": "3389/tcp", "redis": "6379/tcp", "rsync": "873/tcp",
	"sip": "5060/tcp 5060/udp", "sips": "5061/tcp", "smb": "445/tcp", "smtp": "25/tcp", "snmp": "161/udp", "ssh": "22/tcp", "submission": "587/tcp",
	"submissions": "465/tcp", "syslog": "514/udp", "telnet": "23/tcp", "tftp": "69/udp", "vnc": "5900/tcp", "wireguard": "51820/udp",
	"xmpp-client": "5222/tcp", "xmpp-server": "5269/tcp",
}

// ParseServices reads a list of services with commas between them: names such as https, ports such
// as 8443/tcp, and 8443 alone, which is TCP. It fails with INVALID_SERVICE.
func ParseServices(text string) ([]Port, error) {
	var ports []Port
	words := strings.Split(text, ",")
	if len(words) > maxServices {
		return nil, invalidService(fmt.Sprintf("At most %d services can be named at once.", maxServices))
	}
	for _, word := range words {
		list, err := parseService(strings.ToLower(strings.TrimSpace(word)))
		if err != nil {
			return nil, err
		}
		ports = append(ports, list...)
	}
	slices.SortFunc(ports, Port.Compare)
	return slices.Compact(ports), nil
}

func parseService(word string) ([]Port, error) {
	if list, known := wellKnown[word]; known {
		var ports []Port
		for text := range strings.FieldsSeq(list) {
			p, err := ParsePort(text)
			if err != nil {
				return nil, err
			}
			ports = append(ports, p)
		}
		return ports, nil
	}
	if _, err := strconv.ParseUint(word, 10, 16); err == nil {
		word += "/tcp"
	}
	p, err := ParsePort(word)
	if err != nil {
		return nil, unknownService(word)
	}
	return []Port{p}, nil
}

func unknownService(word string) error {
	shown := sanitize.Quoted(word, 40)
	if strings.ContainsAny(word, "/0123456789") || word == "" {
		return invalidService(fmt.Sprintf("%s is neither a service nor a port such as 8443/tcp, from 1 to 65535 of tcp or udp.", shown))
	}
	e := invalidService(fmt.Sprintf("%s is no service that is known by name.", shown))
	for _, name := range slices.Sorted(maps.Keys(wellKnown)) {
		if len(word) <= len(name)+1 && editdistance.Between(word, name) == 1 {
			return e.WithFix("Did you mean " + name + "? Otherwise give its port, such as 8443/tcp.")
		}
	}
	return e
}

func invalidService(message string) *fault.Error {
	return fault.New(fault.InvalidService, message).WithFix("Give its port instead, such as 8443/tcp or 51820/udp. Known by name: " + strings.Join(slices.Sorted(maps.Keys(wellKnown)), ", ") + ".")
}

// subject begins a sentence about ports, with the verb for one of them or for several.
func subject(ports []Port, one, several string) string {
	if len(ports) == 1 {
		return ports[0].String() + " " + one
	}
	return portList(ports, ", ") + " " + several
}

// someOf names at most so many ports, and says how many more there are.
func someOf(ports []Port, most int) string {
	text := portList(ports[:min(len(ports), most)], ", ")
	if more := len(ports) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// portList returns ports in the form of [ParseServices].
func portList(ports []Port, separator string) string {
	var words []string
	for _, p := range ports {
		words = append(words, p.String())
	}
	return strings.Join(words, separator)
}
