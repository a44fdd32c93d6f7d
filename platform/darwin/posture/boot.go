// SPDX-License-Identifier: Apache-2.0

package posture

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"sentinel/internal/sysexec"
)

// Levels of Secure Boot. Those of Apple silicon and of Macs with a T2 chip are
// not the same words for the same things.
const (
	FullSecurity       = "full"
	ReducedSecurity    = "reduced"    // Apple silicon: any version that Apple signed
	PermissiveSecurity = "permissive" // Apple silicon: what the owner signed as well
	MediumSecurity     = "medium"     // T2: any version that Apple signed
	NoSecurity         = "none"       // T2: anything
	Unsupported        = "unsupported"
)

// A Boot is the policy by which a Mac starts.
type Boot struct {
	// SecureBoot is one of the levels above; Unsupported on an Intel Mac without a
	// T2 chip.
	SecureBoot string
	// AppleSilicon says which processor it is: the policy of an Intel Mac has one
	// item, the level.
	AppleSilicon bool
	// What the policy of Apple silicon says; nil when it does not.
	SIP, SignedVolume *bool
	// AnyKernelExtension says that it lets kernel extensions of others be loaded once
	// their user approves; nil when it does not say.
	AnyKernelExtension *bool
}

// profiler lists hardware and software.
const profiler = "/usr/sbin/system_profiler"

// policyVariable is where the firmware of a Mac with a T2 chip keeps the level.
const policyVariable = "94b73556-2197-4702-82a8-3e1337dafbfb:AppleSecureBootPolicy"

// ReadBoot asks system_profiler(8), which needs no root and knows the policy of
// Apple silicon; on a Mac with a T2 chip nvram(8) has the level. The second program
// runs only where the first names a T2.
func ReadBoot(ctx context.Context, runner sysexec.Runner) (Boot, error) {
	r, err := askWithin(ctx, runner, profilerLimit, profiler, "-json", "SPiBridgeDataType")
	if err != nil {
		return Boot{}, err
	}
	b, t2, err := ParseBoot(r.Stdout)
	if err != nil || !t2 {
		return b, err
	}
	level, err := ask(ctx, runner, "/usr/sbin/nvram", policyVariable)
	if err != nil {
		return Boot{}, err
	}
	b.SecureBoot, err = ParsePolicyVariable(level.Stdout)
	return b, err
}

// controller is what system_profiler says of the security chip: the keys of
// -json, and the names of the lines that it prints for people.
var controller = map[string]string{
	"Secure Boot": "ibridge_secure_boot", "System Integrity Protection": "ibridge_sb_sip",
	"Signed System Volume": "ibridge_sb_ssv", "Allow All Kernel Extensions": "ibridge_sb_other_kext",
	"Model Name": "ibridge_model_name",
}

// ParseBoot reads what system_profiler prints of SPiBridgeDataType, with -json
// or for people. t2 says that the level is to be had from [ParsePolicyVariable]. A Mac that has
// neither chip gives an empty list.
func ParseBoot(out []byte) (b Boot, t2 bool, err error) {
	values, err := controllerValues(out)
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
	if b.SecureBoot, err = securityLevel(level); err != nil {
		return Boot{}, false, err
	}
	b.AppleSilicon = true
	b.SIP, b.SignedVolume = word(values["ibridge_sb_sip"], "Enabled", "Disabled"), word(values["ibridge_sb_ssv"], "Enabled", "Disabled")
	b.AnyKernelExtension = word(values["ibridge_sb_other_kext"], "Yes", "No")
	return b, false, nil
}

// word is which of two words it is; nil when it is neither.
func word(s, yes, no string) *bool {
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

// controllerValues returns what is said, by key.
func controllerValues(out []byte) (map[string]string, error) {
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
		if key, known := controller[name]; known {
			values[key] = strings.TrimSpace(value)
		}
	}
	if len(values) == 0 {
		return nil, ErrFormat
	}
	return values, nil
}

// ParsePolicyVariable reads what nvram prints of the variable in which the
// firmware of a Mac with a T2 chip keeps its level: its name, a tab and one byte, "%02".
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
// Secure Boot of the volume that it lists first.
func ReadLocalPolicy(ctx context.Context, runner sysexec.Runner) (string, error) {
	r, err := ask(ctx, runner, "/usr/bin/bputil", "-d")
	if err != nil {
		return "", err
	}
	return ParseLocalPolicy(r)
}

// ParseLocalPolicy reads what bputil -d prints. Where it shows several volumes
// the weakest level counts; it does not name the volume that runs.
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

// ReadFirmwarePassword asks firmwarepasswd(8), as root on an Intel Mac, whether
// a password keeps others from starting it from another disk.
func ReadFirmwarePassword(ctx context.Context, runner sysexec.Runner) (bool, error) {
	r, err := ask(ctx, runner, "/usr/sbin/firmwarepasswd", "-check")
	if err != nil {
		return false, err
	}
	return ParseFirmwarePassword(r)
}

// ParseFirmwarePassword reads what firmwarepasswd -check prints.
func ParseFirmwarePassword(r sysexec.Result) (bool, error) {
	if strings.Contains(string(r.Stdout)+string(r.Stderr), "must be run as root") {
		return false, ErrRoot
	}
	state, found := after(r.Stdout, "Password Enabled:")
	return onOff(state, found, "Yes", "No")
}
