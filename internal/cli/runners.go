// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"

	"sentinel/internal/fault"
)

// A runner carries out one operation.
type runner func(ctx context.Context, s session, call invocation) (document, error)

// runners has the code of each operation in the table of ops, by tool name.
func runners() map[string]runner {
	return map[string]runner{
		"get_system_health":  runSystemHealth,
		"get_top_processes":  runTopProcesses,
		"get_network_stats":  runNetworkStats,
		"get_asset_info":     runAssetInfo,
		"get_action_history": runActionHistory,
		"check_updates":      runCheckUpdates,
		"security_audit":     runSecurityAudit,
		"scan_ports":         runScanPorts,
		"dns_lookup":         runDNSLookup,
		"traceroute":         runTraceroute,
		"list_blocked_ips":   runListBlocked,
		"verify_journal":     runVerifyJournal,
		"doctor":             runDoctor,
	}
}

// unavailable says that the system did not give what an operation cannot do
// without. The end of ctx keeps its own meaning.
func unavailable(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := fault.Wrap(fault.Unavailable, what+" cannot be read", err)
	if errors.Is(err, fs.ErrPermission) {
		return e.WithFix("Run it as a user who may see it, on Linux one who may read /proc, or as root with sudo.")
	}
	return e
}
