// SPDX-License-Identifier: Apache-2.0

// Package logins answers who is logged in, who was, who tries to, and whether somebody got in that
// way; and which accounts and keys came or changed.
//
// What it reads was in part written by clients that nobody has let in: their names for users stand in
// the log. [Parse] says what can be believed of that.
package logins

import (
	"context"
	"net/netip"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
	"sentinel/internal/timespec"
)

// A Source reads what a system has recorded. Each method is bounded in time and memory.
type Source interface {
	// Log reads what was recorded of attempts to log in since a moment, and of changes of accounts.
	Log(ctx context.Context, since time.Time) (Log, error)
	// Past reads the records of logins, such as those of last(1), newest first.
	Past(ctx context.Context) ([]Record, Notes, error)
	// Accounts reads the local accounts and the keys that let in.
	Accounts(ctx context.Context) ([]Account, Notes, error)
}

// Notes say what was not read, by field, in clauses.
type Notes = answer.Gaps

// A Log is what was recorded since a moment, in any order.
type Log struct {
	Name   string // "journal", "/var/log/auth.log"
	Lines  []Line
	Events []Event // of records that are no lines
	// From is since when nothing is missing; zero if nothing is.
	From time.Time
	// Anybody says that any user of the machine can have written what is in it.
	Anybody bool
	Notes   Notes
}

// A Record is a login that the system has kept a record of.
type Record struct {
	User, Terminal string
	From           netip.Addr
	At             time.Time
	Until          time.Time // zero while it goes on, and where its end is not known
	Open           bool
	// Anybody says that any user of the machine can have had it written, for themselves.
	Anybody bool
}

// Owner is whose share of a list the record takes: what a user can have had written takes none of what cannot be.
func (r Record) Owner() string { return ownerOfLogin(r.User, r.Anybody) }

// An Account is a local one.
type Account struct {
	Name string
	UID  int
	// Admin says that it can become root: UID 0, or a member of a group that sudo lets do so.
	Admin bool
	// PasswordSet is the day of its password (shadow(5)), zero if unknown.
	PasswordSet time.Time
	Keys        []Key
	KeysUnread  bool // not all of its keys could be read
}

// A Key lets in whoever has its private half.
type Key struct {
	User        string `json:"user"`                   // that it lets in as
	Kind        string `json:"type"`                   // such as ssh-ed25519
	Fingerprint string `json:"fingerprint"`            // as ssh-keygen -l shows it
	Comment     string `json:"comment,omitempty"`      // at its end, by whoever put it there
	File        string `json:"file"`                   // that it stands in
	Changed     string `json:"file_changed,omitempty"` // when that file was; RFC 3339, UTC; absent if that is no date

	changed time.Time
}

// NewKey returns a key of a user that stands in a file, which was changed at a moment.
func NewKey(user, kind, fingerprint, comment, file string, changed time.Time) Key {
	return Key{
		User: userText(user), Kind: sanitize.Text(kind, 64), Fingerprint: fingerprint, Comment: sanitize.Reason(comment, 48),
		File: sanitize.Text(file, 128), Changed: timespec.Format(changed), changed: changed,
	}
}

// A Session is a login that goes on.
type Session struct {
	User     string   `json:"user,omitempty"`     // absent if unknown
	From     []string `json:"from,omitempty"`     // other hosts that it comes from
	Terminal string   `json:"terminal,omitempty"` // such as pts/0
	Since    string   `json:"since,omitempty"`    // RFC 3339, UTC; absent if unknown
	Local    bool     `json:"local,omitempty"`    // at the machine itself
	// Own is yes for the session that this call comes from, and possibly where that is not known.
	Own string `json:"own,omitempty"`
}

// A Standing is what matters about an address before it is blocked.
type Standing struct {
	// Protected says why block_ip_address would refuse the address; absent if it would not.
	Protected string `json:"protected,omitempty"`
	Blocked   bool   `json:"blocked,omitempty"` // it is on the list of sentinel already
}

// An Intrusion is an address that failed often and then got in.
type Intrusion struct {
	Address string `json:"address"`          // as block_ip_address takes it
	User    string `json:"user"`             // that it got in as
	Method  string `json:"method,omitempty"` // such as password, publickey
	At      string `json:"succeeded_at"`     // RFC 3339, UTC; the first time
	Attempts
	Standing
}

// An Address failed to log in.
type Address struct {
	Address string `json:"address"` // as block_ip_address takes it
	Attempts
	Standing
}

// Attempts are those of an address.
type Attempts struct {
	Failures   int      `json:"failures"`          // that were counted; of an intrusion, before it
	Users      []string `json:"users_tried"`       // the first of them
	UsersTotal int      `json:"users_tried_total"` // before the list was cut
	Services   []string `json:"services"`          // such as ssh
	First      string   `json:"first_failure"`     // RFC 3339, UTC
	Last       string   `json:"last_failure"`      // RFC 3339, UTC
}

// A User is an account that was tried.
type User struct {
	User      string   `json:"user"`             // as it was sent; control characters were taken out
	Exists    *bool    `json:"exists,omitempty"` // there is a local account of that name; absent if unknown
	Failures  int      `json:"failures"`         // that were counted
	Addresses int      `json:"addresses"`        // how many it was tried from; 0 is from this machine, or unknown
	By        []string `json:"by,omitempty"`     // accounts of this machine that tried to become it
	Services  []string `json:"services"`         // such as ssh
	First     string   `json:"first_failure"`    // RFC 3339, UTC
	Last      string   `json:"last_failure"`     // RFC 3339, UTC
}

// A Login is one that succeeded.
type Login struct {
	User     string `json:"user"`               // who logged in
	At       string `json:"at"`                 // RFC 3339, UTC
	From     string `json:"from,omitempty"`     // another host; absent for a local login, and if unknown
	Service  string `json:"service,omitempty"`  // such as ssh; absent if unknown
	Method   string `json:"method,omitempty"`   // such as password, publickey; absent if unknown
	Terminal string `json:"terminal,omitempty"` // such as pts/0; absent without one
	Until    string `json:"until,omitempty"`    // RFC 3339, UTC; absent if it goes on or that is not known
	// Claimed says that this stands in a record alone which the user can have had written without a login, with
	// any address.
	Claimed bool `json:"claimed,omitempty"`

	at time.Time
}

// A Change is one of an account.
type Change struct {
	User string `json:"user"` // that was changed
	What string `json:"what"` // such as "created with UID=1001"
	At   string `json:"at"`   // RFC 3339, UTC

	at time.Time
}

// A News is what is different from the last call as root.
type News struct {
	Since    string   `json:"since"`               // time of that call; RFC 3339, UTC
	Accounts []string `json:"accounts"`            // that were not there
	Gone     []string `json:"accounts_gone"`       // that are not there any more
	Admins   []string `json:"administrators"`      // that were none
	Keys     []Key    `json:"keys" schema:"brief"` // that were not there
}

// A Report answers get_logins. A list, with its total, that could not be read is absent.
type Report struct {
	// Intrusions are addresses that failed five times or more and then got in.
	Intrusions []Intrusion `json:"succeeded_after_failures"`
	// New is absent in the first call, and where nothing is kept.
	New *News `json:"new,omitempty" schema:"brief"`

	Since string `json:"since"` // of what is reported, as far as nothing below says otherwise; RFC 3339, UTC
	// Source is where failures and changes were read from.
	Source string `json:"source,omitempty"`
	// AnybodyWrites says that any user of this machine can have written into that source.
	AnybodyWrites bool `json:"source_anybody_can_write,omitempty"`

	Sessions      []Session `json:"sessions,omitzero" schema:"brief"` // that go on now
	SessionsTotal *int      `json:"sessions_total,omitempty"`         // before the list was cut

	Failures         *int `json:"failures,omitempty"`           // absent if unknown
	FailuresLastHour *int `json:"failures_last_hour,omitempty"` // absent if unknown
	// Unattributed counts failures whose client sent a name that keeps its address from being told.
	Unattributed   int       `json:"failures_without_certain_address,omitempty"`
	ByAddress      []Address `json:"failures_by_address,omitzero" schema:"brief"` // the most first
	AddressesTotal *int      `json:"addresses_total,omitempty"`                   // before the list was cut
	ByUser         []User    `json:"failures_by_user,omitzero" schema:"brief"`    // the most first
	UsersTotal     *int      `json:"users_total,omitempty"`                       // before the list was cut

	// Last are the newest, of each user at most a quarter of the rows while others wait for one.
	Last      []Login `json:"last_logins,omitzero" schema:"brief"`
	LastTotal *int    `json:"last_logins_total,omitempty"` // before the list was cut

	Changes      []Change `json:"account_changes,omitzero" schema:"brief"` // newest first
	ChangesTotal *int     `json:"account_changes_total,omitempty"`         // before the list was cut
	Keys         []Key    `json:"changed_keys,omitzero" schema:"brief"`    // in files changed since then, newest first
	KeysTotal    *int     `json:"changed_keys_total,omitempty"`            // before the list was cut

	Truncated   bool        `json:"truncated,omitempty"` // lists were cut
	Unavailable answer.Gaps `json:"unavailable"`         // what could not be read, and why
}
