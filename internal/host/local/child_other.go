// SPDX-License-Identifier: Apache-2.0

//go:build !darwin

package local

import "io"

// Child returns false: this system needs no child process.
func Child([]string, io.Writer) (handled bool) { return false }
