// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sysexec

import "syscall"

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
