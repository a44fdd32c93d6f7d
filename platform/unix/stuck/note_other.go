// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package stuck

// Note does nothing: elsewhere than on Linux no user mounts a file system of their own.
func Note(string, Thing) (forget func()) { return func() {} }

// AnyProcess is false, as Noted is: nothing is noted.
func AnyProcess(string) bool { return false }

// AnyDirectory is false, as Noted is: nothing is noted.
func AnyDirectory(string) bool { return false }

// Noted is false: nothing is noted.
func Noted(string, Thing) bool { return false }

// Follow goes nowhere: nothing would be noted.
func (*Way) Follow(_, _ string) (device, inode uint64, err error) { return 0, 0, nil }
