// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A Recorded output was printed by a real program and published.
type Recorded struct {
	Name string // of the case, such as "status-on.txt"
	Raw  []byte
	// Command is the folder that it was filed under, if that is the name of a command that is read or
	// listed in [Unread]; else empty: then what it is shows from its content alone.
	Command string
}

// maxRecorded bounds one output, in bytes.
const maxRecorded = 16 << 20

// Unread are the commands with published outputs that sentinel does not run, with the reason.
var Unread = map[string]string{
	"alf-plist":       "a file that macOS 15 and later do not keep up to date; socketfilterfw is asked",
	"arp":             "which neighbours there are is no question of any operation",
	"id":              "only id -P is run, whose line is that of master.passwd(5)",
	"ioreg":           "system_profiler tells the serial number and the hardware UUID",
	"last":            "sysctl kern.boottime tells the start",
	"memory_pressure": "sysctl kern.memorystatus_vm_pressure_level tells the level",
	"nettop":          "netstat and lsof tell the sockets",
	"sudo":            "sentinel-mcp and the doctor run it alike on every system",
	"uptime":          "sysctl vm.loadavg and kern.boottime tell both",
	"w":               "lsof tells the sessions of sshd",
	"who":             "lsof tells the sessions of sshd",
}

// contents tell which command printed an output, by what only that one prints.
var contents = map[string]*regexp.Regexp{
	"bputil":          regexp.MustCompile(`(?i)bputil|local policy`),
	"csrutil":         regexp.MustCompile(`System Integrity Protection status|Authenticated Root status`),
	"defaults-read":   regexp.MustCompile(`(?s)\A\s*(Dict )?\{.*;?\n?\s*\}\s*\z`),
	"df":              regexp.MustCompile(`(?m)^Filesystem +(\S+-blocks|Size) `),
	"diskutil":        regexp.MustCompile(`<key>(AllDisksAndPartitions|Containers|DeviceIdentifier|ErrorMessage)</key>|(?m)^/dev/disk\d+ \(|^APFS Container`),
	"etc-pf.conf":     regexp.MustCompile(`(?m)^load anchor "`),
	"fdesetup":        regexp.MustCompile(`(?m)^FileVault is `),
	"firmwarepasswd":  regexp.MustCompile(`(?m)^(Password Enabled: |Mode: )`),
	"ifconfig":        regexp.MustCompile(`(?m)^\S+: flags=[0-9a-f]+<`),
	"kill":            regexp.MustCompile(`(?m)^(\S*kill|-?\S*sh): .*(No such process|not permitted)`),
	"launchctl":       regexp.MustCompile(`(?m)^(\S+ = \{|PID\s+Status\s+Label|Could not (find|kickstart) |Boot-?out failed)|"Label" = `),
	"log":             regexp.MustCompile(`(?m)^Timestamp +(Ty|Thread)`),
	"lsof":            regexp.MustCompile(`(?m)^(p\d+|COMMAND +PID +USER.*NAME)$`),
	"mdmclient":       regexp.MustCompile(`SecurityInfo = |mdmclient|Daemon response`),
	"mount":           regexp.MustCompile(`(?m)^(/dev/\S+|devfs|map \S+) on /.* \(`),
	"netstat":         regexp.MustCompile(`(?m)^(Active (Internet|Multipath)|Name +Mtu +Network|Routing tables)`),
	"networksetup":    regexp.MustCompile(`(?m)^Hardware Port: `),
	"nvram":           regexp.MustCompile(`nvram: `),
	"pfctl":           regexp.MustCompile(`(?m)^(No ALTQ support|ALTQ related|Status: (En|Dis)abled|pfctl: |pf (en|dis)abled|scrub-anchor |TOKENS:|No pf starter)`),
	"pmset":           regexp.MustCompile(`(?m)(^Note: No .* has been recorded|CPU_Speed_Limit|Warning Level = |^Now drawing from )`),
	"powermetrics":    regexp.MustCompile(`\*\*\* Sampled system activity|powermetrics must be|<key>thermal_pressure</key>|\*\*\*\* (SMC sensors|Thermal pressure)|<key>elapsed_ns</key>`),
	"profiles":        regexp.MustCompile(`Enrolled via DEP: |configuration profiles installed`),
	"ps":              regexp.MustCompile(`\A\s*(USER|UID|PID|ARGS) .*(COMMAND|COMM|CMD|ARGS|%CPU|%MEM)`),
	"route":           regexp.MustCompile(`(?m)^ *route to: |route has not been found|not in table`),
	"scutil":          regexp.MustCompile(`(?m)^(DNS configuration|resolver #\d)`),
	"security":        regexp.MustCompile(`Trust Settings|Number of trusted certs`),
	"socketfilterfw":  regexp.MustCompile(`Firewall is |(?i)stealth mode |Total number of apps|ALF: `),
	"softwareupdate":  regexp.MustCompile(`Software Update Tool|Software Update found|No new software available|Automatic checking for updates`),
	"spctl":           regexp.MustCompile(`(?m)^(assessments|developer id) (en|dis)abled`),
	"sw-vers":         regexp.MustCompile(`(?m)^Product(Name|Version):\s`),
	"sysadminctl":     regexp.MustCompile(`screenLock `),
	"sysctl":          regexp.MustCompile(`(?m)^(hw|kern|machdep|vm)\.\w[\w.]*[:=] `),
	"system_profiler": regexp.MustCompile(`(?m)^(Hardware|Software|Controller):$|SP\w+DataType`),
	"systemsetup":     regexp.MustCompile(`(?m)^(Remote Login|Remote Apple Events|Network Time): |need administrator access`),
	"top":             regexp.MustCompile(`(?m)^CPU usage: `),
	"uname":           regexp.MustCompile(`\ADarwin \S+ \d`),
	"vm_stat":         regexp.MustCompile(`Mach Virtual Memory Statistics: `),
}

// PrintedBy reports whether an output is one of command: by its folder or, where that says nothing,
// by its content.
func (r Recorded) PrintedBy(command string) bool {
	if r.Command != "" {
		return r.Command == command
	}
	content := contents[command]
	return content != nil && content.Match(r.Raw)
}

// Read reports whether there is a command of those that are read that printed it.
func (r Recorded) Read() bool {
	return slices.ContainsFunc(RecordedCommands(), r.PrintedBy)
}

// RecordedCommands are the commands whose outputs are read.
func RecordedCommands() []string {
	var names []string
	for name := range contents {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// RecordedOutputs returns the outputs of a macOS command below the directory
// SENTINEL_TRANSCRIPTS, of its part darwin if there is one; none if the variable is not set. They
// are not in this repository because their licences differ. Folders have the names of commands, or
// any other: what is in those goes by its content.
func RecordedOutputs(t testing.TB, command string) []Recorded {
	t.Helper()
	return slices.DeleteFunc(AllRecorded(t), func(r Recorded) bool { return !r.PrintedBy(command) })
}

// AllRecorded returns all outputs there are, of whatever command.
func AllRecorded(t testing.TB) []Recorded {
	t.Helper()
	root := os.Getenv("SENTINEL_TRANSCRIPTS")
	if root == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(root, "darwin")); err == nil {
		root = filepath.Join(root, "darwin")
	}
	var list []Recorded
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".md" || filepath.Dir(path) == root {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxRecorded {
			return err
		}
		raw, err := os.ReadFile(path) // reading what the variable names is the purpose
		list = append(list, Recorded{Name: d.Name(), Raw: raw, Command: commandOf(strings.TrimPrefix(path, root))})
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("no recorded outputs below %s (%v)", root, err)
	}
	return list
}

// commandOf is the nearest folder of a path that has the name of a command.
func commandOf(path string) string {
	folders := strings.Split(filepath.Dir(path), string(filepath.Separator))
	for _, name := range slices.Backward(folders) {
		if _, unread := Unread[name]; unread || contents[name] != nil {
			return name
		}
	}
	return ""
}
