// SPDX-License-Identifier: Apache-2.0

package ops

// since is from when on something is told, in every spelling that package timespec reads.
var since = Field{
	Name: "since", Flag: "since", Placeholder: "TIME", Kind: Text, MaxLength: 64,
	Description: "-2h, yesterday, 03:12, ISO 8601",
}
