// SPDX-License-Identifier: Apache-2.0

package fault

// A Code names one kind of failure. The set is closed: a new code is a new
// line in the table below, with its exit status, meaning and fix.
type Code string

// The codes, by who can do something about the failure. They are part of the
// interface: a code is never renamed and never changes its meaning.
const (
	Usage            Code = "USAGE"
	InvalidArgument  Code = "INVALID_ARGUMENT"
	ConfigInvalid    Code = "CONFIG_INVALID"
	Unsupported      Code = "UNSUPPORTED"
	Unavailable      Code = "UNAVAILABLE"
	Timeout          Code = "TIMEOUT"
	Cancelled        Code = "CANCELLED"
	SentinelNotFound Code = "SENTINEL_NOT_FOUND"
	BadOutput        Code = "BAD_OUTPUT"
	Internal         Code = "INTERNAL"
)

// Exit statuses of sentinel.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// An Info documents one code.
type Info struct {
	Code    Code
	Exit    int    // status of the sentinel process, 1 to 255
	Meaning string // one sentence
	Fix     string // what to do when the failure names nothing better
}

var table = []Info{
	{Usage, ExitUsage, "The command line names no action, two actions, or a flag that does not belong to the action.", "Run: sentinel --help"},
	{InvalidArgument, ExitUsage, "A value has the wrong type, is out of range or has an unknown name.", "Send a value that the message allows."},
	{ConfigInvalid, ExitFailed, "The configuration file cannot be read, is not safe to trust, or holds something that sentinel does not know.", "Correct what the message names, or remove the file to use the defaults."},
	{Unsupported, ExitFailed, "This operating system or this machine cannot do what was asked.", "Run sentinel on a system that the documentation lists for this operation."},
	{Unavailable, ExitFailed, "What the operation needs from the system is not there or does not answer.", "Check that /proc and /sys are mounted and readable, then try again."},
	{Timeout, ExitFailed, "The operation did not finish within its time limit.", "Try again; if it happens again, look for a hung disk or network mount with: sentinel --json"},
	{Cancelled, ExitInterrupted, "The caller cancelled the operation, or it was interrupted.", "Run it again if it is still wanted."},
	{SentinelNotFound, ExitFailed, "sentinel-mcp cannot find or start the sentinel binary.", "Install sentinel beside sentinel-mcp, or start the server with --sentinel /absolute/path/to/sentinel"},
	{BadOutput, ExitFailed, "The sentinel binary printed something that is not the document it promises.", "Install sentinel and sentinel-mcp of the same version."},
	{Internal, ExitFailed, "A fault in sentinel itself.", "Please report it with the message and the output of: sentinel --version"},
}

// All returns the table of codes, in a fixed order.
func All() []Info { return append([]Info(nil), table...) }

// Exit returns the exit status of sentinel for c.
func (c Code) Exit() int { return c.info().Exit }

func (c Code) info() Info {
	for _, i := range table {
		if i.Code == c {
			return i
		}
	}
	return Info{Code: c, Exit: ExitFailed}
}
