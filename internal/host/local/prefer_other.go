// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package local

// preferRoot does nothing: macOS has no way to start a program with an ordinary priority from a process
// that has a better one.
func preferRoot() {}
