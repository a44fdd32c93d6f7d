// SPDX-License-Identifier: Apache-2.0

package portscan

import (
	"cmp"
	"slices"
)

// A wellKnown port has a service that is usually found there.
type wellKnown struct {
	port uint16
	name string
}

// wellKnownPorts are in ascending order. The names are those of the registry (RFC
// 6335) where it has one, otherwise the common name of the program.
var wellKnownPorts = [...]wellKnown{
	{1, "tcpmux"}, {7, "echo"}, {9, "discard"}, {13, "daytime"}, {17, "qotd"}, {19, "chargen"}, {20, "ftp-data"}, {21, "ftp"},
	{22, "ssh"}, {23, "telnet"}, {25, "smtp"}, {37, "time"}, {43, "whois"}, {49, "tacacs"}, {53, "domain"}, {70, "gopher"},
	{79, "finger"}, {80, "http"}, {81, "http-alt"}, {88, "kerberos"}, {102, "iso-tsap"}, {110, "pop3"}, {111, "rpcbind"}, {113, "ident"},
	{119, "nntp"}, {135, "msrpc"}, {139, "netbios-ssn"}, {143, "imap"}, {161, "snmp"}, {179, "bgp"}, {194, "irc"}, {199, "smux"},
	{264, "bgmp"}, {389, "ldap"}, {427, "svrloc"}, {443, "https"}, {444, "snpp"}, {445, "microsoft-ds"}, {464, "kpasswd"}, {465, "submissions"},
	{502, "modbus"}, {512, "exec"}, {513, "login"}, {514, "shell"}, {515, "printer"}, {540, "uucp"}, {543, "klogin"}, {544, "kshell"},
	{548, "afp"}, {554, "rtsp"}, {587, "submission"}, {631, "ipp"}, {636, "ldaps"}, {646, "ldp"}, {749, "kerberos-adm"}, {853, "domain-s"},
	{873, "rsync"}, {902, "vmware-auth"}, {989, "ftps-data"}, {990, "ftps"}, {993, "imaps"}, {995, "pop3s"}, {1080, "socks"}, {1099, "rmiregistry"},
	{1194, "openvpn"}, {1433, "ms-sql-s"}, {1434, "ms-sql-m"}, {1521, "oracle"}, {1723, "pptp"}, {1883, "mqtt"}, {1935, "rtmp"}, {2049, "nfs"},
	{2082, "cpanel"}, {2083, "cpanels"}, {2181, "zookeeper"}, {2222, "ssh-alt"}, {2375, "docker"}, {2376, "docker-s"}, {2377, "swarm"}, {2379, "etcd-client"},
	{2380, "etcd-server"}, {3000, "grafana"}, {3128, "squid"}, {3260, "iscsi"}, {3268, "globalcat"}, {3306, "mysql"}, {3389, "ms-wbt-server"}, {3478, "stun"},
	{4222, "nats"}, {4369, "epmd"}, {4443, "https-alt"}, {4505, "salt-publish"}, {4506, "salt-request"}, {5000, "http-alt"}, {5044, "beats"}, {5060, "sip"},
	{5061, "sips"}, {5201, "iperf3"}, {5222, "xmpp-client"}, {5269, "xmpp-server"}, {5353, "mdns"}, {5355, "llmnr"}, {5432, "postgresql"}, {5601, "kibana"},
	{5666, "nrpe"}, {5671, "amqps"}, {5672, "amqp"}, {5900, "vnc"}, {5901, "vnc-1"}, {5984, "couchdb"}, {5985, "winrm"}, {5986, "winrm-s"},
	{6000, "x11"}, {6379, "redis"}, {6443, "kubernetes"}, {6660, "irc"}, {6667, "irc"}, {6697, "ircs"}, {7000, "cassandra"}, {7070, "http-alt"},
	{7474, "neo4j"}, {7946, "swarm-gossip"}, {8000, "http-alt"}, {8006, "proxmox"}, {8008, "http-alt"}, {8009, "ajp13"}, {8080, "http-alt"}, {8081, "http-alt"},
	{8086, "influxdb"}, {8088, "http-alt"}, {8096, "jellyfin"}, {8123, "home-assistant"}, {8200, "vault"}, {8300, "consul"}, {8333, "bitcoin"}, {8443, "https-alt"},
	{8500, "consul-http"}, {8834, "nessus"}, {8883, "mqtts"}, {8888, "http-alt"}, {9000, "http-alt"}, {9001, "tor-orport"}, {9042, "cassandra-cql"}, {9090, "prometheus"},
	{9091, "transmission"}, {9092, "kafka"}, {9093, "alertmanager"}, {9100, "node-exporter"}, {9200, "elasticsearch"}, {9300, "elasticsearch-node"}, {9418, "git"}, {9443, "https-alt"},
	{10000, "webmin"}, {10050, "zabbix-agent"}, {10051, "zabbix-server"}, {10250, "kubelet"}, {11211, "memcached"}, {11434, "ollama"}, {15672, "rabbitmq"}, {19999, "netdata"},
	{25565, "minecraft"}, {27017, "mongodb"}, {32400, "plex"}, {51413, "bittorrent"}, {61616, "activemq"},
}

// service names what is usually found at a TCP port, "unknown" where nothing is.
func service(port uint16) string {
	at, ok := slices.BinarySearchFunc(wellKnownPorts[:], port, func(c wellKnown, p uint16) int { return cmp.Compare(c.port, p) })
	if !ok {
		return "unknown"
	}
	return wellKnownPorts[at].name
}
