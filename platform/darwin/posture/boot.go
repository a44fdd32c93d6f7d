// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/systemprofiler"
)

// Levels of Secure Boot. Apple silicon and Macs with a T2 chip have different
// ones.
const (
	FullSecurity       = "full"
	ReducedSecurity    = "reduced"    // Apple silicon: any version signed by Apple
	PermissiveSecurity = "permissive" // Apple silicon: also systems signed by the owner
	MediumSecurity     = "medium"     // T2: any version signed by Apple
	NoSecurity         = "none"       // T2: anything
	Unsupported        = "unsupported"
)

// A Boot is the startup policy of a Mac.
type Boot struct {
	// SecureBoot is one of the levels above; Unsupported on an Intel Mac without a
	// T2 chip.
	SecureBoot string
	// AppleSilicon is false for an Intel Mac, whose policy is the level alone.
	AppleSilicon bool
	// Of Apple silicon; nil if unknown.
	SIP, SignedVolume *bool
	// AnyKernelExtension means that third-party kernel extensions may be loaded once
	// a user approves them; nil if unknown.
	AnyKernelExtension *bool
}

// policyVariable holds the level in the firmware of a Mac with a T2 chip.
const policyVariable = "94b73556-2197-4702-82a8-3e1337dafbfb:AppleSecureBootPolicy"

// ReadBoot asks system_profiler(8), which needs no root, for the policy of Apple
// silicon. If that reports a T2 chip, it asks nvram(8) for the level. AppleSilicon is also known
// with an error, where the level is a word in another language.
func ReadBoot(ctx context.Context, runner sysexec.Runner) (Boot, error) {
	if runner == nil {
		return Boot{}, ErrNotLive
	}
	var t2 bool
	b, err := systemprofiler.Ask(ctx, runner, profilerLimit, func(out []byte) (b Boot, err error) {
		b, t2, err = ParseBoot(out)
		return b, err
	}, "SPiBridgeDataType")
	if err != nil || !t2 {
		return b, err
	}
	level, err := run(ctx, runner, "/usr/sbin/nvram", policyVariable)
	if err != nil {
		return Boot{}, err
	}
	b.SecureBoot, err = ParsePolicyVariable(level.Stdout)
	return b, err
}

// bridgeKeys are the keys of system_profiler -json for the security chip, by their
// names in its plain output.
var bridgeKeys = map[string]string{
	"Secure Boot": "ibridge_secure_boot", "System Integrity Protection": "ibridge_sb_sip",
	"Signed System Volume": "ibridge_sb_ssv", "Allow All Kernel Extensions": "ibridge_sb_other_kext",
	"Model Name": "ibridge_model_name",
}

// ParseBoot parses the output of system_profiler SPiBridgeDataType, with or without
// -json. t2 means that [ParsePolicyVariable] has the level. A Mac with neither chip prints an
// empty list.
func ParseBoot(out []byte) (b Boot, t2 bool, err error) {
	values, err := bridgeValues(out)
	if err != nil {
		return Boot{}, false, err
	}
	if len(values) == 0 {
		return Boot{SecureBoot: Unsupported}, false, nil
	}
	level, stated := values["ibridge_secure_boot"]
	if !stated {
		if strings.Contains(values["ibridge_model_name"], "T2") {
			return Boot{}, true, nil
		}
		if strings.Contains(values["ibridge_model_name"], "T1") {
			return Boot{SecureBoot: Unsupported}, false, nil
		}
		return Boot{}, false, ErrFormat
	}
	b.AppleSilicon = true
	if b.SecureBoot, err = securityLevel(level); err != nil {
		return b, false, err
	}
	b.SIP, b.SignedVolume = yesNo(values["ibridge_sb_sip"], "Enabled", "Disabled"), yesNo(values["ibridge_sb_ssv"], "Enabled", "Disabled")
	b.AnyKernelExtension = yesNo(values["ibridge_sb_other_kext"], "Yes", "No")
	return b, false, nil
}

// yesNo is nil if s is neither word.
func yesNo(s, yes, no string) *bool {
	is, err := onOff(s, true, yes, no)
	if err != nil {
		return nil
	}
	return &is
}

func securityLevel(s string) (string, error) {
	switch s {
	case "Full Security":
		return FullSecurity, nil
	case "Reduced Security":
		return ReducedSecurity, nil
	case "Permissive Security":
		return PermissiveSecurity, nil
	default:
		return "", ErrFormat
	}
}

// bridgeValues returns the values by key.
func bridgeValues(out []byte) (map[string]string, error) {
	values := map[string]string{}
	if begin := bytes.IndexByte(out, '{'); begin >= 0 {
		var document struct {
			Items []map[string]any `json:"SPiBridgeDataType"`
		}
		if err := json.NewDecoder(bytes.NewReader(out[begin:])).Decode(&document); err != nil || document.Items == nil {
			return nil, ErrFormat
		}
		for _, item := range document.Items {
			for key, value := range item {
				if text, ok := value.(string); ok {
					values[key] = text
				}
			}
		}
		return values, nil
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if key, known := bridgeKeys[name]; known {
			values[key] = strings.TrimSpace(value)
		}
	}
	if len(values) == 0 {
		return nil, ErrFormat
	}
	return values, nil
}

// ParsePolicyVariable parses the output of nvram(8) for the variable with the level
// of a Mac with a T2 chip: its name, a tab and one byte, such as "%02".
func ParsePolicyVariable(out []byte) (string, error) {
	line := strings.TrimSpace(string(out))
	name, value, _ := strings.Cut(line, "\t")
	if !strings.EqualFold(name, policyVariable) {
		return "", ErrFormat
	}
	switch value {
	case "%02":
		return FullSecurity, nil
	case "%01":
		return MediumSecurity, nil
	case "%00":
		return NoSecurity, nil
	default:
		return "", ErrFormat
	}
}

// ReadLocalPolicy asks bputil(1), as root on Apple silicon, for the level of
// Secure Boot.
func ReadLocalPolicy(ctx context.Context, runner sysexec.Runner) (string, error) {
	r, err := run(ctx, runner, "/usr/bin/bputil", "-d")
	if err != nil {
		return "", err
	}
	return ParseLocalPolicy(r)
}

// ParseLocalPolicy parses the output of bputil -d. Of several volumes the weakest
// level counts, because the output does not tell which one is running.
func ParseLocalPolicy(r sysexec.Result) (string, error) {
	said := string(r.Stdout) + "\n" + string(r.Stderr)
	if strings.Contains(said, "requires running as root") {
		return "", ErrRoot
	}
	weakest := ""
	for line := range strings.Lines(string(r.Stdout)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.TrimSpace(name) != "Security Mode" {
			continue
		}
		level, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		level, err := securityLevel(level + " Security")
		if err != nil {
			return "", err
		}
		if weakest == "" || strength(level) < strength(weakest) {
			weakest = level
		}
	}
	if weakest == "" {
		return "", ErrFormat
	}
	return weakest, nil
}

func strength(level string) int {
	return map[string]int{PermissiveSecurity: 0, ReducedSecurity: 1, FullSecurity: 2}[level]
}

// ReadFirmwarePassword asks firmwarepasswd(8), as root on an Intel Mac, whether a
// password is needed to start from another disk.
func ReadFirmwarePassword(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := run(ctx, runner, "/usr/sbin/firmwarepasswd", "-check")
	if err != nil {
		return false, err
	}
	return ParseFirmwarePassword(r)
}

// ParseFirmwarePassword parses the output of firmwarepasswd -check.
func ParseFirmwarePassword(r sysexec.Result) (bool, error) {
	if strings.Contains(string(r.Stdout)+string(r.Stderr), "must be run as root") {
		return false, ErrRoot
	}
	state, found := lineAfter(r.Stdout, "Password Enabled:")
	return onOff(state, found, "Yes", "No")
}
