// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package audit

func kernelClockSynchronized() (bool, error) { return false, errNotLive }
