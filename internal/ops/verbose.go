// SPDX-License-Identifier: Apache-2.0

package ops

// verbose is the option of the same name, for programs: their answers leave out
// what is well, or said twice, without it.
func verbose(what string) Field {
	return Field{Name: "verbose", Flag: "verbose", Kind: Boolean, Default: false, Description: what}
}
