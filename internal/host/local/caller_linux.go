// SPDX-License-Identifier: Apache-2.0

package local

import "sentinel/platform/linux/caller"

func leaveCaller() { caller.Leave() }
