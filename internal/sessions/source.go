// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"context"
	"net/netip"
	"time"
)

// A Source reads what the model is made of. Every method is bounded, also where processes of others
// make reading dear.
type Source interface {
	// Read reads the tables that are cheap however many processes there are.
	Read(ctx context.Context) (Snapshot, error)
	// Open reads the files that a process has open, as far as they are sockets or terminals. What was
	// not looked at is an error beside the rest.
	Open(ctx context.Context, pid int) (Files, error)
	// Serving finds the processes that serve terminals, as [Files] names them, of the mount of devpts that this run has.
	// Why some may be missing is an error beside the rest.
	Serving(ctx context.Context) (map[string][]int, error)
	// Holders finds processes that have the sockets open. A socket that nobody was found for is
	// missing, and why is an error beside the rest.
	Holders(ctx context.Context, list []Socket) (map[SocketID][]int, error)
	// Describe reads more about a process. What cannot be read stays zero, with an error where that is the account.
	// That a process has ended is no error.
	Describe(ctx context.Context, pid int) (Description, error)
	// Peers returns with whom UDP ports have exchanged packets, for sockets that are not connected.
	Peers(ctx context.Context, ports []uint16) ([]Peer, error)
	// Traffic returns how much went through TCP connections, of this run's network namespace and of those
	// of containers that were looked into, as far as the system tells.
	Traffic(ctx context.Context) (map[SocketID]Traffic, error)
	// Tunnels returns those that packets between two addresses travel in.
	Tunnels(ctx context.Context, c Connection) ([]Tunnel, error)
	// Unix returns those of the sockets that are connected Unix sockets (streams), by themselves, and why not all were
	// looked at beside them: [ErrNotTold] where the system does not tell.
	Unix(ctx context.Context, list []SocketID) ([]Socket, error)
	// OnWire returns the address that packets of a connection come from, where rules of this machine have its program
	// see another; invalid where there are none.
	OnWire(ctx context.Context, k Socket) (netip.Addr, error)
	// Container looks into the network namespace of this machine that a host is in, as the routes of this run have
	// it. on is set where it is in one; what then could not be looked at is an error beside the rest.
	Container(ctx context.Context, host netip.Addr) (c Container, on bool, err error)
}

// A Container is another network namespace of this machine, which may be the way that a session takes.
type Container struct {
	Space     Space
	Sockets   []Socket // none where they were told before
	Addresses []netip.Addr
	Processes []int // those that live in it
}

// A Snapshot is the state of the machine at one moment.
type Snapshot struct {
	Self      int // PID of this run
	Processes []Process
	Sockets   []Socket
	Logins    []Login
	// Addresses are those of this machine.
	Addresses []netip.Addr
	// Elsewhere are the addresses of other network namespaces that ancestors of this run live in.
	Elsewhere map[Space][]netip.Addr
	// Hint is whom the environment says this run's session is with (SSH_CONNECTION). It is never
	// believed alone, and only adds to what is protected.
	Hint []netip.Addr
	// Users are the accounts that have called this run, as far as sudo and the audit of the kernel name them.
	Users []User
	// Nested says that this run is in a container or the like, and may share the network with programs
	// that it does not see.
	Nested bool
	// Masters says that [Files] tell which terminals a process serves.
	Masters bool
	// Unread says what is missing, in clauses.
	Unread []string
}

// A Process is a row of the process table.
type Process struct {
	PID, Parent int
	Leader      int    // PID of the leader of its session (setsid(2))
	Name        string // as the kernel has it; only for people
	Terminal    string // the controlling one, such as pts/0; empty without one
	Pseudo      bool   // whose terminal another process serves
}

// A User is an account.
type User struct {
	UID    int
	Name   string
	System bool // as in Description
}

// A SocketID tells a socket from others. Processes that share a socket share its ID.
type SocketID uint64

// A Space tells the network namespaces of this machine from one another; that of this run is 0. Each
// has addresses and ports of its own.
type Space uint64

// A Socket is one socket of the machine.
type Socket struct {
	ID            SocketID
	Space         Space
	Protocol      string // tcp, udp or unix
	Local, Remote netip.AddrPort
	Listening     bool
	Established   bool // a TCP connection that both ends have agreed to
	UID           int  // who made it; -1 if unknown
	// PathOf is the socket that this one is another path of (MPTCP, RFC 8684), with other ends; 0 for most.
	PathOf SocketID
	// Peer is the other end of a Unix socket, which has no ports; 0 for others. Accepted is set for the end of a
	// server that listened.
	Peer     SocketID
	Accepted bool
}

// connection tells the connection that a socket is of, or one path of several.
func (k Socket) connection() SocketID { return cmp.Or(k.PathOf, k.ID) }

// A Login is what the system has recorded of one.
type Login struct {
	ID       string // of the session manager; empty if from another record
	Leader   int    // the process that logged in; 0 if unknown
	User     string
	Terminal string // as in Process
	From     netip.Addr
	Remote   bool
	Since    time.Time
	// Manager says that the session manager has it from a process of root; others, such as the
	// records of who(1), can be made by programs of users.
	Manager bool
	// Seat is set for the screen and keyboard of the machine.
	Seat bool
}

// Files are what a process has open.
type Files struct {
	Sockets []SocketID
	Masters []string // terminals that it serves, as in Process.Terminal
	// Terminals are pseudo-terminals that it has open as what is started there does, some where these are very many.
	Terminals []string
}

// A Description is what more is known about a process.
type Description struct {
	// Ended is set for a process that has ended, also where its parent has not asked for it yet (a zombie). It is
	// nobody's: nothing else is told of it.
	Ended  bool
	UID    int  // the real one, where the system tells it
	System bool // root or an account of the system; no person's
	User   string
	Unit   string // the service, socket or scope of the system that it runs in
	// Elsewhere is set for a process in another container (PID namespace) or network namespace than this run.
	Elsewhere bool
	Login     string // the ID of the login that it belongs to
	// Program names the file that it runs, where that is one of the system's. It is read for root's
	// processes, and for what calls itself a server of desktops.
	Program string
	// Lent is set for a process of root's or of an account of the system whose program lends the rights of
	// another user (set-user-ID, set-group-ID): whoever started it chose what it has open.
	Lent bool
	// Raised is set for a person's process that acts with the rights of root: its program lends them, as sudo does.
	Raised bool
	// OwnRun is set for a run of this program as root.
	OwnRun bool
	// CommandLine is read for what calls itself an SSH server and is root's, or its child.
	CommandLine []string
}

// A Peer is another host at a UDP port.
type Peer struct {
	Port    uint16
	Address netip.Addr
	Came    bool // the first packet came from there
}

// Traffic is how many bytes a connection has moved, without those that were sent once more.
type Traffic struct{ Sent, Received uint64 }

// A Tunnel is an interface whose packets travel inside of others.
type Tunnel struct {
	Interface string
	Kind      string       // such as wireguard, vxlan, tun
	Addresses []netip.Addr // the far ends
	Ports     []Port       // of this machine, that its packets come in at
	Processes []int        // that carry its packets
	Unknown   string       // why the far ends are not all known, a clause; empty if they are
}
