// SPDX-License-Identifier: Apache-2.0

package ops

// reason is the field that every change has. It is written to the journal only,
// never passed to another program.
var reason = Field{
	Name: "reason", Flag: "reason", Placeholder: "TEXT", Kind: Text, MaxLength: 200,
	Description: "Why, for the journal",
}
