// SPDX-License-Identifier: Apache-2.0

package ops

// endSession lets a change end sessions of others, which is refused without it. The caller's own is
// never ended.
var endSession = Field{
	Name: "end_session", Flag: "end-session", Kind: Boolean, Default: false,
	Description: "End another's session too, never your own",
}
