// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"fmt"
	"time"
)

// uptimeText formats how long the system has run like uptime(1): "5 min", "4:05",
// "3 days, 4:05".
func uptimeText(d time.Duration) string {
	minutes := int64(d / time.Minute)
	days, hours := minutes/(24*60), minutes/60%24
	switch {
	case days == 1:
		return fmt.Sprintf("1 day, %d:%02d", hours, minutes%60)
	case days > 1:
		return fmt.Sprintf("%d days, %d:%02d", days, hours, minutes%60)
	case hours > 0:
		return fmt.Sprintf("%d:%02d", hours, minutes%60)
	default:
		return fmt.Sprintf("%d min", minutes)
	}
}
