// SPDX-License-Identifier: Apache-2.0

package ops

// A Group is what an action is there for. Help lists actions by it.
type Group int

// The groups.
const (
	See   Group = iota // shows something and leaves the machine as it is
	Act                // changes the machine, or sends its state to a receiver
	SetUp              // for whoever installs sentinel, and for timers
)

// Groups lists the groups in the order of the help.
func Groups() []Group { return []Group{See, Act, SetUp} }

// Heading is the title of the group in help texts.
func (g Group) Heading() string {
	return map[Group]string{See: "See", Act: "Act", SetUp: "Set up and maintain"}[g]
}

// Group returns what the operation is there for.
func (o Operation) Group() Group {
	switch {
	case o.Toolset == "":
		return SetUp
	case o.Writes():
		return Act
	default:
		return See
	}
}

// Writes reports whether the operation goes through the journal.
func (o Operation) Writes() bool {
	return o.Changes() || o.Recorded
}
