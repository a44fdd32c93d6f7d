// SPDX-License-Identifier: Apache-2.0

package fault

import "strings"

// A Code names one kind of failure. The set is closed: a new code needs a new line
// in the table below, with its exit status, meaning and fix.
type Code string

// The codes, grouped by who can do something about the failure. They are part of
// the interface: a code is never renamed and never changes its meaning.
const (
	Usage               Code = "USAGE"
	InvalidArgument     Code = "INVALID_ARGUMENT"
	InvalidPID          Code = "INVALID_PID"
	InvalidIP           Code = "INVALID_IP"
	InvalidService      Code = "INVALID_SERVICE"
	InvalidTarget       Code = "INVALID_TARGET"
	InvalidPortRange    Code = "INVALID_PORT_RANGE"
	InvalidURL          Code = "INVALID_URL"
	PermissionDenied    Code = "PERMISSION_DENIED"
	DisabledByPolicy    Code = "DISABLED_BY_POLICY"
	RateLimited         Code = "RATE_LIMITED"
	ProtectedProcess    Code = "PROTECTED_PROCESS"
	ProtectedAddress    Code = "PROTECTED_ADDRESS"
	ProtectedService    Code = "PROTECTED_SERVICE"
	TargetNotAllowed    Code = "TARGET_NOT_ALLOWED"
	ProcessChanged      Code = "PROCESS_CHANGED"
	PlanChanged         Code = "PLAN_CHANGED"
	Declined            Code = "DECLINED"
	ProcessNotFound     Code = "PROCESS_NOT_FOUND"
	HostNotFound        Code = "HOST_NOT_FOUND"
	HostUnreachable     Code = "HOST_UNREACHABLE"
	HostRefused         Code = "HOST_REFUSED"
	HostUnverified      Code = "HOST_UNVERIFIED"
	StillRunning        Code = "STILL_RUNNING"
	AlreadyBlocked      Code = "ALREADY_BLOCKED"
	NotBlocked          Code = "NOT_BLOCKED"
	FirewallFailed      Code = "FIREWALL_FAILED"
	PFReloadFailed      Code = "PF_RELOAD_FAILED"
	FirewallUnavailable Code = "FIREWALL_UNAVAILABLE"
	ServiceNotFound     Code = "SERVICE_NOT_FOUND"
	ServiceMasked       Code = "SERVICE_MASKED"
	ServiceInactive     Code = "SERVICE_INACTIVE"
	RestartFailed       Code = "RESTART_FAILED"
	BrokenConfiguration Code = "BROKEN_CONFIGURATION"
	WebhookFailed       Code = "WEBHOOK_FAILED"
	WebhookQueued       Code = "WEBHOOK_QUEUED"
	JournalFailed       Code = "JOURNAL_FAILED"
	StateCorrupt        Code = "STATE_CORRUPT"
	ConfigInvalid       Code = "CONFIG_INVALID"
	Unsupported         Code = "UNSUPPORTED"
	Unavailable         Code = "UNAVAILABLE"
	Timeout             Code = "TIMEOUT"
	Cancelled           Code = "CANCELLED"
	SentinelNotFound    Code = "SENTINEL_NOT_FOUND"
	BadOutput           Code = "BAD_OUTPUT"
	Internal            Code = "INTERNAL"
)

// Exit statuses of sentinel.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitPermission  = 3
	ExitRefused     = 4
	ExitQueued      = 75 // EX_TEMPFAIL of sysexits.h(3head): nothing is lost, and it is tried again
	ExitInterrupted = 130
)

// An Info documents one code.
type Info struct {
	Code    Code
	Exit    int    // status of the sentinel process, 1 to 255
	Meaning string // one sentence
	Fix     string // what to do if the error does not give a better fix
}

var table = []Info{
	{Usage, ExitUsage, "The command line names no action, two actions, or a flag that does not belong to the action.", "Run: sentinel --help"},
	{InvalidArgument, ExitUsage, "A value has the wrong type, is out of range or has an unknown name.", "Send a value that the message allows."},
	{InvalidPID, ExitUsage, "The process ID is not a decimal number from 1 to 4194304.", "Take the pid of a row of: sentinel --top"},
	{InvalidIP, ExitUsage, "The address is not one IPv4 or IPv6 address in its usual form.", "Send one address such as 203.0.113.7 or 2001:db8::7, without port, zone, prefix length or leading zeros."},
	{InvalidService, ExitUsage, "The name is not that of a service.", "Send the name of one service, such as nginx or nginx.service."},
	{InvalidTarget, ExitUsage, "The target is neither one address nor a valid host name.", "Send one address such as 192.0.2.7 or 2001:db8::7, or a host name such as printer.example.net, without port, prefix length or scheme."},
	{InvalidPortRange, ExitUsage, "The ports are not numbers from 1 to 65535, ranges of them, or all.", "Send ports such as 1-1024, 22,80,443, 22,8000-8100 or all."},
	{InvalidURL, ExitUsage, "The URL is not one that telemetry may be sent to.", "Send an https:// URL of a receiver, without user name and password; http:// only for this machine."},
	{PermissionDenied, ExitPermission, "The operation needs root, or the rules of sudo do not allow it.", "Run it with sudo; what lets this user do without is said by: sentinel --doctor"},
	{DisabledByPolicy, ExitRefused, "The configuration of this machine does not allow the operation to programs and users of sudo.", "Ask the administrator of this machine, who decides it under policy in /etc/sentinel/config.yaml."},
	{RateLimited, ExitRefused, "Too many destructive operations were asked for within a minute.", "Wait a minute, and find out what asks so often with: sudo sentinel --history"},
	{ProtectedProcess, ExitRefused, "The process must not be ended: the system or this very call depends on it.", "Leave it running; to restart a service, use: sudo sentinel --restart-service NAME"},
	{ProtectedAddress, ExitRefused, "The address must not be blocked: this machine, its network or its owner's session depends on it.", "Leave it reachable, or block another address."},
	{ProtectedService, ExitRefused, "The service must not be restarted: the system or the owner's session depends on it.", "Restart it from a console of the machine if it has to be."},
	{TargetNotAllowed, ExitRefused, "A scan is of neither this machine nor a private network that it is attached to, or a webhook is on this machine and not in its configuration.", "Scan this machine or a private network of its own, and send to another machine; its administrator can allow more with scan.targets and webhook.endpoints in /etc/sentinel/config.yaml."},
	{ProcessChanged, ExitRefused, "The process is not the one that was expected: its name or its start time is different.", "Look again with sentinel --top and send the start_id and the name that it shows now."},
	{PlanChanged, ExitRefused, "What would be done now is not what the user agreed to, or what a dry run said just before: it has changed since.", "Nothing was done; call it again, and the user is asked anew."},
	{Declined, ExitRefused, "The user was asked, or was to be, and did not agree.", "Nothing was done. Do not try it again, and not in another way, unless the user asks for it."},
	{ProcessNotFound, ExitFailed, "There is no process with this ID.", "It may have ended by itself; look again with: sentinel --top"},
	{HostNotFound, ExitFailed, "No address is known for the host, or the name does not exist.", "Check how the name is written, or send an address."},
	{HostUnreachable, ExitFailed, "SSH gets no connection to the host, or lost it.", "Check that it runs and is reachable from this machine, with: ssh HOST true"},
	{HostRefused, ExitPermission, "The host does not let this user in with a key: it asks for a password, or refuses the key.", "Log in to it once by hand, and give it a key that needs no typing: ssh-copy-id HOST, and ssh-add for a key with a passphrase."},
	{HostUnverified, ExitRefused, "The host has not proved who it is: its SSH host key is not known here, or it is not the one that is known.", "Nobody but a person may accept a key: run ssh HOST once by hand, and compare the fingerprint with the one that its administrator tells."},
	{StillRunning, ExitFailed, "The process was signalled and is still there.", "It is stuck in the kernel, often on storage that does not answer; it ends when the kernel lets it, or at a reboot."},
	{AlreadyBlocked, ExitFailed, "The address is blocked already.", "Nothing needs to be done; see when it ends with: sentinel --list-blocked"},
	{NotBlocked, ExitFailed, "The address is not blocked by sentinel.", "See what is blocked with: sentinel --list-blocked"},
	{FirewallFailed, ExitFailed, "The packet filter did not take the change, does not show it, or would shut out remote sessions; or there is no trial of a firewall to confirm.", "Nothing was kept of the change; see the message, then try again."},
	{PFReloadFailed, ExitFailed, "pf, the packet filter of macOS, did not load the rules of sentinel, or does not show them.", "Nothing was kept of the change; see what pf says with: sudo pfctl -s info"},
	{FirewallUnavailable, ExitFailed, "This machine has no packet filter that sentinel can use.", "Install nftables, or iptables; on macOS see that /etc/pf.conf has the line anchor \"com.apple/*\". Then try again."},
	{ServiceNotFound, ExitFailed, "There is no service with this name.", "List the services with systemctl list-units --type=service, on macOS with sudo launchctl list."},
	{ServiceMasked, ExitFailed, "The unit of systemd is masked: its administrator has made starting it impossible.", "If it is meant to run, unmask it first with: systemctl unmask NAME"},
	{ServiceInactive, ExitFailed, "The service is neither running nor failed nor enabled; restarting it would start a service that is switched off.", "If it is wanted, start it by hand with systemctl start NAME, on macOS with sudo launchctl kickstart DOMAIN/LABEL, enabled and loaded before."},
	{RestartFailed, ExitFailed, "The service did not come back, or did not stay up.", "Look at its last log lines, in log, fix what they name, then restart it."},
	{BrokenConfiguration, ExitRefused, "The service runs, and would not come back from a restart: its own test of its configuration fails, or what its start needs is missing.", "Repair what the message names, then restart it."},
	{WebhookFailed, ExitFailed, "The telemetry was not delivered, and it is not kept.", "Look at what the message says of the receiver, then send it again."},
	{WebhookQueued, ExitQueued, "The telemetry was not delivered yet; it is kept on this machine and sent next time, oldest first.", "Nothing is lost; once the receiver answers again, send what waits with: sudo sentinel --report"},
	{JournalFailed, ExitFailed, "The journal cannot be written, or it was tampered with; without a record nothing is changed.", "Make /var/log/sentinel writable for root with room to spare, then check it with: sudo sentinel --verify-journal"},
	{StateCorrupt, ExitFailed, "The list of blocked addresses is damaged or not safe to trust; a damaged one is set aside, and nothing is changed by it.", "Look at the file that the message names, then block again what is missing."},
	{ConfigInvalid, ExitFailed, "The configuration file cannot be read, is not safe to trust, or holds something that sentinel does not know.", "Correct what the message names, or remove the file to use the defaults."},
	{Unsupported, ExitFailed, "This operating system or this machine cannot do what was asked.", "Run sentinel on a system that the documentation lists for this operation."},
	{Unavailable, ExitFailed, "What the operation needs from the system is not there or does not answer.", "Check what the message names, and on Linux that /proc and /sys are mounted and readable, then try again."},
	{Timeout, ExitFailed, "The operation did not finish within its time limit.", "Try again; if it happens again, look for a hung disk or network mount with: sentinel --json"},
	{Cancelled, ExitInterrupted, "The caller cancelled the operation, or it was interrupted.", "Run it again if it is still wanted."},
	{SentinelNotFound, ExitFailed, "The sentinel binary cannot be found or started, here or on the host that was named.", "Install sentinel beside sentinel-mcp, or start the server with --sentinel /absolute/path/to/sentinel"},
	{BadOutput, ExitFailed, "The sentinel binary printed something that is not the document it promises.", "Install sentinel and sentinel-mcp of the same version."},
	{Internal, ExitFailed, "A fault in sentinel itself.", "Please report it with the message and the output of: sentinel --version"},
}

// All returns the table of codes, in a fixed order.
func All() []Info { return append([]Info(nil), table...) }

// Exit returns the exit status of sentinel for c.
func (c Code) Exit() int { return c.info().Exit }

// Fix returns what to do where an error does not say it better.
func (c Code) Fix() string { return c.info().Fix }

// Formed reports whether c can be a code, of this version or of a later one: 1 to 40 capital letters and underscores.
func (c Code) Formed() bool {
	const most = 40
	return c != "" && len(c) <= most && strings.Trim(string(c), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

func (c Code) info() Info {
	for _, i := range table {
		if i.Code == c {
			return i
		}
	}
	return Info{Code: c, Exit: ExitFailed}
}
