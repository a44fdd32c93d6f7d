// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"golang.org/x/sys/unix"
)

// fakeNFT stands in for nf_tables. It keeps what it is given as it is given and
// shows it again, as a kernel before 6.12 does: an element that is added again keeps its end.
type fakeNFT struct {
	t        *testing.T
	ruleset  fakeRuleset
	sent     [][]netlink.HeaderType // of each transaction, without its frame
	failures []unix.Errno           // of the next transactions
	// reply changes the answers to a kind of question; nil leaves them.
	reply map[netlink.HeaderType]func([]netlink.Message) []netlink.Message
}

// fakeRuleset is all that a transaction changes, in the order in which it was made.
type fakeRuleset struct {
	tables, sets, chains, rules []object
	elements                    map[string][]object // by the name of the set
}

// An object is a message of one thing, with the attributes that name it.
type object struct {
	table, name string
	key         string // of an element
	body        []byte
}

func newFakeNFT(t *testing.T) *fakeNFT {
	return &fakeNFT{t: t, ruleset: fakeRuleset{elements: map[string][]object{}}, reply: map[netlink.HeaderType]func([]netlink.Message) []netlink.Message{}}
}

// backend talks to the fake.
func (f *fakeNFT) backend() Nftables {
	return Nftables{
		open: func(context.Context) *nftables.Conn {
			conn, err := nftables.New(nftables.WithTestDial(f.answer))
			must(f.t, err)
			return conn
		},
		dial: func(context.Context) (*netlink.Conn, error) { return nltest.Dial(f.answer), nil },
	}
}

// edit makes a change as another program does.
func (f *fakeNFT) edit(change func(*nftables.Conn)) {
	f.t.Helper()
	conn := f.backend().open(f.t.Context())
	change(conn)
	must(f.t, conn.Flush())
	f.sent = nil
}

// sleep makes the first table dormant.
func (f *fakeNFT) sleep() {
	table := &f.ruleset.tables[0]
	flags, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(table.table + "\x00")}, {Type: unix.NFTA_TABLE_FLAGS, Data: []byte{0, 0, 0, 1}},
	})
	must(f.t, err)
	table.body = append([]byte{unix.NFPROTO_INET, 0, 0, 0}, flags...)
	f.sent = nil
}

const nftMessage = unix.NFNL_SUBSYS_NFTABLES << 8

func (f *fakeNFT) answer(asked []netlink.Message) ([]netlink.Message, error) {
	switch {
	case len(asked) == 0: // whoever waits for more acknowledgements gets none
		return nil, io.EOF
	case asked[0].Header.Type == unix.NFNL_MSG_BATCH_BEGIN:
		return f.transact(asked)
	}
	kind := asked[0].Header.Type
	list, errno := f.show(asked[0])
	if errno != 0 {
		return nltest.Error(int(errno), asked)
	}
	replies := make([]netlink.Message, len(list))
	for i, o := range list {
		replies[i] = netlink.Message{Header: netlink.Header{Type: kind - 1}, Data: o.body}
	}
	if change := f.reply[kind&0xff]; change != nil {
		replies = change(replies)
	}
	if len(replies) == 0 {
		return nil, io.EOF
	}
	if asked[0].Header.Flags&netlink.Dump == netlink.Dump {
		replies = append(replies, netlink.Message{})
	}
	for i := range replies {
		replies[i].Header.Sequence, replies[i].Header.PID = asked[0].Header.Sequence, asked[0].Header.PID
	}
	return nltest.Multipart(replies)
}

// transact does all of a batch or nothing, and acknowledges it once.
func (f *fakeNFT) transact(batch []netlink.Message) ([]netlink.Message, error) {
	messages := batch[1 : len(batch)-1]
	var kinds []netlink.HeaderType
	for _, m := range messages {
		kinds = append(kinds, m.Header.Type-nftMessage)
	}
	f.sent = append(f.sent, kinds)
	if len(f.failures) > 0 {
		errno := f.failures[0]
		f.failures = f.failures[1:]
		return nltest.Error(int(errno), messages)
	}
	next := f.ruleset.clone()
	for _, m := range messages {
		if errno := next.apply(m); errno != 0 {
			return nltest.Error(int(errno), []netlink.Message{m})
		}
	}
	f.ruleset = next
	return nltest.Error(0, messages)
}

func (r fakeRuleset) clone() fakeRuleset {
	c := fakeRuleset{slices.Clone(r.tables), slices.Clone(r.sets), slices.Clone(r.chains), slices.Clone(r.rules), maps.Clone(r.elements)}
	for name, list := range c.elements {
		c.elements[name] = slices.Clone(list)
	}
	return c
}

// fields are the attributes of a message by their type.
func fields(b []byte) map[uint16][]byte {
	list, _ := netlink.UnmarshalAttributes(b)
	byType := map[uint16][]byte{}
	for _, a := range list {
		byType[a.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = a.Data
	}
	return byType
}

func nameIn(b []byte) string { return strings.TrimRight(string(b), "\x00") }

// upsert adds o, or replaces the one of its name.
func upsert(list []object, o object) []object {
	if i := slices.IndexFunc(list, func(h object) bool { return h.table == o.table && h.name == o.name }); i >= 0 {
		list[i] = o
		return list
	}
	return append(list, o)
}

func (r *fakeRuleset) apply(m netlink.Message) unix.Errno {
	has := fields(m.Data[nfgenmsg:])
	table := nameIn(has[1])
	of := func(o object) bool { return o.table == table }
	switch m.Header.Type - nftMessage {
	case unix.NFT_MSG_NEWTABLE:
		r.tables = upsert(r.tables, object{table: table, body: m.Data})
	case unix.NFT_MSG_DELTABLE:
		r.tables, r.sets = slices.DeleteFunc(r.tables, of), slices.DeleteFunc(r.sets, of)
		r.chains, r.rules, r.elements = slices.DeleteFunc(r.chains, of), slices.DeleteFunc(r.rules, of), map[string][]object{}
	case unix.NFT_MSG_NEWSET:
		r.sets = upsert(r.sets, object{table: table, name: nameIn(has[unix.NFTA_SET_NAME]), body: m.Data})
	case unix.NFT_MSG_DELSET:
		r.sets = slices.DeleteFunc(r.sets, func(o object) bool { return of(o) && o.name == nameIn(has[unix.NFTA_SET_NAME]) })
	case unix.NFT_MSG_NEWCHAIN:
		r.chains = upsert(r.chains, object{table: table, name: nameIn(has[unix.NFTA_CHAIN_NAME]), body: m.Data})
	case unix.NFT_MSG_DELCHAIN:
		r.chains = slices.DeleteFunc(r.chains, func(o object) bool { return of(o) && o.name == nameIn(has[unix.NFTA_CHAIN_NAME]) })
	case unix.NFT_MSG_NEWRULE:
		o := object{table: table, name: nameIn(has[unix.NFTA_RULE_CHAIN]), body: m.Data}
		if m.Header.Flags&unix.NLM_F_APPEND != 0 {
			r.rules = append(r.rules, o)
		} else {
			r.rules = append([]object{o}, r.rules...)
		}
	case unix.NFT_MSG_DELRULE:
		r.rules = slices.DeleteFunc(r.rules, func(o object) bool { return of(o) && o.name == nameIn(has[unix.NFTA_RULE_CHAIN]) })
	case unix.NFT_MSG_NEWSETELEM, unix.NFT_MSG_DELSETELEM:
		return r.changeElements(m.Header.Type-nftMessage == unix.NFT_MSG_NEWSETELEM, nameIn(has[unix.NFTA_SET_ELEM_LIST_SET]), has[unix.NFTA_SET_ELEM_LIST_ELEMENTS])
	default:
		return unix.EINVAL
	}
	return 0
}

func (r *fakeRuleset) changeElements(adds bool, set string, elements []byte) unix.Errno {
	if !slices.ContainsFunc(r.sets, func(o object) bool { return o.name == set }) {
		return unix.ENOENT
	}
	list, _ := netlink.UnmarshalAttributes(elements)
	for _, e := range list {
		key := string(fields(fields(e.Data)[unix.NFTA_SET_ELEM_KEY])[unix.NFTA_DATA_VALUE])
		at := slices.IndexFunc(r.elements[set], func(o object) bool { return o.key == key })
		switch {
		case !adds && at < 0:
			return unix.ENOENT
		case !adds:
			r.elements[set] = slices.Delete(r.elements[set], at, at+1)
		case at < 0:
			r.elements[set] = append(r.elements[set], object{key: key, body: e.Data})
		}
	}
	return 0
}

// show answers a question with what there is.
func (f *fakeNFT) show(m netlink.Message) ([]object, unix.Errno) {
	has := fields(m.Data[nfgenmsg:])
	within := func(list []object) []object {
		return slices.DeleteFunc(slices.Clone(list), func(o object) bool { return o.table != nameIn(has[1]) })
	}
	switch m.Header.Type - nftMessage {
	case unix.NFT_MSG_GETTABLE:
		return f.ruleset.tables, 0
	case unix.NFT_MSG_GETSET:
		return within(f.ruleset.sets), 0
	case unix.NFT_MSG_GETCHAIN:
		return f.ruleset.chains, 0
	case unix.NFT_MSG_GETRULE:
		return slices.DeleteFunc(within(f.ruleset.rules), func(o object) bool { return o.name != nameIn(has[unix.NFTA_RULE_CHAIN]) }), 0
	case unix.NFT_MSG_GETSETELEM:
		return f.showElements(nameIn(has[unix.NFTA_SET_ELEM_LIST_SET]), has[unix.NFTA_SET_ELEM_LIST_ELEMENTS])
	}
	return nil, unix.EINVAL
}

// showElements shows one element that is asked for, or all of a set, each with the
// whole of its time left.
func (f *fakeNFT) showElements(set string, wanted []byte) ([]object, unix.Errno) {
	key := string(fields(fields(fields(wanted)[unix.NFTA_LIST_ELEM])[unix.NFTA_SET_ELEM_KEY])[unix.NFTA_DATA_VALUE])
	e := netlink.NewAttributeEncoder()
	e.ByteOrder = binary.BigEndian
	found := false
	e.Nested(unix.NFTA_SET_ELEM_LIST_ELEMENTS, func(list *netlink.AttributeEncoder) error {
		for _, o := range f.ruleset.elements[set] {
			if wanted != nil && o.key != key {
				continue
			}
			found = true
			body := o.body
			if limit := fields(body)[unix.NFTA_SET_ELEM_TIMEOUT]; limit != nil {
				left, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: unix.NFTA_SET_ELEM_EXPIRATION, Data: limit}})
				must(f.t, err)
				body = slices.Concat(body, left)
			}
			list.Bytes(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, body)
		}
		return nil
	})
	body, err := e.Encode()
	must(f.t, err)
	if !found && wanted != nil || !slices.ContainsFunc(f.ruleset.sets, func(o object) bool { return o.name == set }) {
		return nil, unix.ENOENT
	}
	return []object{{body: append([]byte{unix.NFPROTO_INET, 0, 0, 0}, body...)}}, 0
}
