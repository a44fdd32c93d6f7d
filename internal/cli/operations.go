// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"reflect"

	"sentinel/internal/fault"
)

// A runner carries out an operation that changes nothing.
type runner func(ctx context.Context, s session, call invocation) (document, error)

// A planner checks everything about a write and changes nothing. What it
// refuses is neither recorded nor done.
type planner func(ctx context.Context, s session, call invocation) (change, error)

// The code of an operation: how it is run, or planned where it goes through the
// journal, and the type of its document.
type code struct {
	run    runner
	plan   planner
	result reflect.Type
	// form checks the form of arguments that their type does not, before anything else; nil where
	// there is nothing to check.
	form func(s session, call invocation) error
}

func answers[D document](run runner) code { return code{run: run, result: reflect.TypeFor[D]()} }

// formed returns c with a check of the form of its arguments.
func (c code) formed(check func(s session, call invocation) error) code {
	c.form = check
	return c
}

func changes[D changed](plan planner) code { return code{plan: plan, result: reflect.TypeFor[D]()} }

// operations has the code of each operation in the table of ops, by its name.
func operations() map[string]code {
	return map[string]code{
		"get_system_health":   answers[*healthDocument](runSystemHealth),
		"get_top_processes":   answers[topDocument](runTopProcesses),
		"get_network_stats":   answers[networkDocument](runNetworkStats),
		"get_asset_info":      answers[assetDocument](runAssetInfo),
		"get_action_history":  answers[*historyDocument](runActionHistory),
		"get_disk_usage":      answers[*diskUsageDocument](runDiskUsage).formed(formOfPath),
		"check_updates":       answers[updatesDocument](runCheckUpdates),
		"security_audit":      answers[auditDocument](runSecurityAudit),
		"scan_ports":          answers[scanDocument](runScanPorts),
		"dns_lookup":          answers[lookupDocument](runDNSLookup),
		"traceroute":          answers[routeDocument](runTraceroute),
		"get_containers":      answers[containersDocument](runContainers),
		"get_logins":          answers[*loginsDocument](runLogins).formed(formOfLogins),
		"get_startup_items":   answers[startupDocument](runStartupItems),
		"get_logs":            answers[*logsDocument](runLogs).formed(formOfLogs),
		"get_service_status":  answers[*serviceDocument](runServiceStatus).formed(formOfServiceAsked),
		"list_blocked_ips":    answers[*blockedDocument](runListBlocked),
		"verify_journal":      answers[verifyDocument](runVerifyJournal),
		"doctor":              answers[doctorDocument](runDoctor),
		"get_process_details": answers[processDocument](runProcessDetails),
		"get_health_history":  answers[*healthHistoryDocument](runHealthHistory).formed(formOfHealthHistory),
		"record":              answers[recordDocument](runRecord),
		"get_fleet_health":    answers[*fleetDocument](runFleetHealth),

		"terminate_process":      changes[*terminateDocument](planTermination),
		"block_ip_address":       changes[*blockDocument](planBlock).formed(formOfBlock),
		"unblock_ip_address":     changes[*unblockDocument](planUnblock).formed(formOfAddress),
		"enable_firewall":        changes[*enableDocument](planFirewall).formed(formOfKeptOpen),
		"allow_service":          changes[*allowDocument](planAllowService).formed(formOfServices),
		"disable_firewall":       changes[*disableDocument](planDisableFirewall),
		"restart_service":        changes[*restartDocument](planRestart).formed(formOfService),
		"restore_blocklist":      changes[*restoreDocument](planRestore),
		"send_telemetry_webhook": changes[*webhookDocument](planWebhook),
		"report":                 changes[*reportDocument](planReport),
	}
}

// Results are the types of the documents that operations answer with, by the
// name of the operation. Schemas are made of them.
func Results() map[string]reflect.Type {
	results := map[string]reflect.Type{}
	for name, c := range operations() {
		results[name] = c.result
	}
	return results
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
