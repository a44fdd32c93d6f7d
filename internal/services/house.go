// SPDX-License-Identifier: Apache-2.0

package services

import "time"

// A House is a kind of service manager: how it names services, which of them
// must be left alone, what it takes for meant to be off, and how a person talks to it.
type House interface {
	// word is its name in a sentence.
	word() string
	// complete checks what somebody asked for, and returns the name to look it up by,
	// which is safe to hand to another program.
	complete(asked string) (string, error)
	// bare is the part of a name that patterns are compared with.
	bare(name string) string
	isService(name string) bool
	rules() []rule
	// tails are the forms of a name that somebody may have meant; none for what is not
	// suggested.
	tails(name string) []string
	// checkLoaded refuses what the manager has not been able to read, or does not start
	// and stop for anybody; checkWanted refuses to start what is meant to be off.
	checkLoaded(u Unit) error
	checkWanted(u Unit) error
	// grace is how long a service that died once may take to stay up.
	grace() time.Duration
	signal(n int) string

	// gone says that a service was not there any more when it was to be restarted.
	gone(name string) string
	// What a person runs to look further.
	alive() string
	loaded() string // lists what there is
	all() string    // and what is not loaded besides
	status(name string) string
	queue() string
	verify(name string) string
	forgive(name string) string // "" where there is nothing to forgive
	logs(u Unit) string         // a sentence
}

// The service managers that sentinel knows.
var (
	Systemd House = systemd{}
	Launchd House = launchd{}
)

type (
	systemd struct{}
	launchd struct{}
)
