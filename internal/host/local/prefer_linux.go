// SPDX-License-Identifier: Apache-2.0

package local

import (
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/scheduling"
)

func preferRoot() { sysexec.StartVia(scheduling.Prefer().Start) }
