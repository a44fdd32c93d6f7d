// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/extensions"
	"sentinel/platform/darwin/posture"
)

// maxListed bounds lists that programs print.
const maxListed = 500

// parseSetting parses a line of systemsetup(8), "Remote Login: Off". Without root
// that prints a sentence on stdout and exits with status 0, so only the output counts.
func parseSetting(r sysexec.Result, name string) (bool, error) {
	if strings.Contains(string(r.Stdout), "need administrator access") {
		return false, posture.ErrRoot
	}
	for line := range strings.Lines(string(r.Stdout)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+": "); ok {
			return onOff(value, "On", "Off")
		}
	}
	return false, errUnknownOutput
}

func onOff(word, on, off string) (bool, error) {
	switch strings.TrimSuffix(strings.TrimSpace(word), ".") {
	case on:
		return true, nil
	case off:
		return false, nil
	default:
		return false, errUnknownOutput
	}
}

// A screenLock is when the password is required after sleep or screen saver.
type screenLock struct {
	On    bool
	Delay time.Duration
}

// parseScreenLock parses the output of sysadminctl -screenLock status, a log line
// on stderr that begins with time, program and process.
func parseScreenLock(stderr []byte) (screenLock, error) {
	for line := range strings.Lines(string(stderr)) {
		_, said, found := strings.Cut(strings.TrimSpace(line), "screenLock ")
		delay, delayed := strings.CutPrefix(said, "delay is ")
		switch {
		case !found:
		case said == "is off":
			return screenLock{}, nil
		case delayed && delay == "immediate":
			return screenLock{On: true}, nil
		case delayed:
			n, err := strconv.ParseUint(strings.TrimSuffix(delay, " seconds"), 10, 31)
			if err != nil || !strings.HasSuffix(delay, " seconds") {
				return screenLock{}, errUnknownOutput
			}
			return screenLock{On: true, Delay: time.Duration(n) * time.Second}, nil
		}
	}
	return screenLock{}, errUnknownOutput
}

// parseGuest parses the output of sysadminctl -guestAccount status, the log line
// "Guest account disabled." on stderr.
func parseGuest(stderr []byte) (bool, error) {
	for line := range strings.Lines(string(stderr)) {
		if _, said, found := strings.Cut(strings.TrimSpace(line), "Guest account "); found {
			return onOff(strings.ToLower(said), "enabled", "disabled")
		}
	}
	return false, errUnknownOutput
}

// An enrollment is the state of device management.
type enrollment struct {
	Automatic    bool // through Apple's register of devices
	Managed      bool
	UserApproved bool
}

// parseEnrollment parses the output of profiles status -type enrollment.
func parseEnrollment(stdout []byte) (enrollment, error) {
	var e enrollment
	known := false
	for line := range strings.Lines(string(stdout)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		word, more, _ := strings.Cut(value, " ")
		is, err := onOff(word, "Yes", "No")
		switch {
		case err != nil:
		case name == "Enrolled via DEP":
			e.Automatic = is
		case name == "MDM enrollment":
			e.Managed, e.UserApproved, known = is, more == "(User Approved)", true
		}
	}
	if !known {
		return enrollment{}, errUnknownOutput
	}
	return e, nil
}

// parseTrust parses the names of the certificates in the output of security
// dump-trust-settings -d. If there are none it prints a message, with status 0 on newer systems
// and 1 on older ones.
func parseTrust(r sysexec.Result) ([]string, error) {
	total, none := -1, false
	var names []string
	for line := range strings.Lines(string(r.Stdout)) {
		line = strings.TrimSpace(line)
		if n, ok := strings.CutPrefix(line, "Number of trusted certs = "); ok && total < 0 {
			var err error
			if total, err = strconv.Atoi(n); err != nil {
				return nil, errUnknownOutput
			}
		}
		if name, ok := strings.CutPrefix(line, "Cert "+strconv.Itoa(len(names))+": "); ok && len(names) < maxListed {
			names = append(names, name)
		}
	}
	for line := range strings.Lines(string(r.Stdout) + "\n" + string(r.Stderr)) {
		none = none || strings.TrimSpace(line) == "SecTrustSettingsCopyCertificates: No Trust Settings were found."
	}
	if none && total < 0 { // a certificate chooses its name: what it says of the list is not asked
		return nil, nil
	}
	if total < 0 || r.Exit != 0 || min(total, maxListed) != len(names) {
		return nil, errUnknownOutput
	}
	return names, nil
}

func teams(list []extensions.Extension) string {
	var names []string
	for _, e := range list {
		names = append(names, e.Team)
	}
	return "team " + strings.Join(unique(names), ", ")
}

// unique sorts a copy of list and removes duplicates.
func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// A securityInfo is what the client of device management reports to its server.
type securityInfo struct {
	RemoteDesktop *bool // nil if unknown
}

// parseSecurityInfo parses the output of mdmclient QuerySecurityInfo, an old-style
// property list with text around it. It only looks for the line that is needed.
func parseSecurityInfo(stdout []byte) (securityInfo, error) {
	var s securityInfo
	known := false
	for line := range strings.Lines(string(stdout)) {
		line = strings.TrimSpace(line)
		known = known || strings.HasPrefix(line, "SecurityInfo =")
		if value, ok := strings.CutPrefix(line, "RemoteDesktopEnabled = "); ok && known {
			if on, err := onOff(value, "1;", "0;"); err == nil {
				s.RemoteDesktop = &on
			}
		}
	}
	if !known {
		return securityInfo{}, errUnknownOutput
	}
	return s, nil
}

// parseAuthority reports whether an account can log in with a password, from the
// output of dscl for its AuthenticationAuthority.
func parseAuthority(r sysexec.Result) (bool, error) {
	said := string(r.Stdout) + "\n" + string(r.Stderr)
	switch {
	case strings.Contains(said, "No such key: AuthenticationAuthority"):
		return false, nil
	case r.Exit != 0 || !strings.HasPrefix(string(r.Stdout), "AuthenticationAuthority:"):
		return false, errUnknownOutput
	default:
		return !strings.Contains(said, ";DisabledUser;"), nil
	}
}

// parseMembers parses the members of a group in the output of dscl.
func parseMembers(r sysexec.Result) ([]string, error) {
	list, found := strings.CutPrefix(string(r.Stdout), "GroupMembership:")
	members := strings.Fields(list)
	if !found || r.Exit != 0 || len(members) == 0 || len(members) > maxListed {
		return nil, errUnknownOutput
	}
	return unique(members), nil
}

// parsePrinters reports whether printers are shared, from the output of cupsctl.
func parsePrinters(stdout []byte) (bool, error) {
	for line := range strings.Lines(string(stdout)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "_share_printers="); ok {
			return onOff(value, "1", "0")
		}
	}
	return false, errUnknownOutput
}

// parseSchedule parses the output of softwareupdate --schedule.
func parseSchedule(r sysexec.Result) (bool, error) {
	for line := range strings.Lines(string(r.Stdout) + "\n" + string(r.Stderr)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "Automatic checking for updates is turned "); ok {
			return onOff(value, "on", "off")
		}
	}
	return false, errUnknownOutput
}
