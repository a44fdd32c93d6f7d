// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
	pending "sentinel/internal/updates"
	"sentinel/platform/linux/aptconf"
	"sentinel/platform/linux/updates"
)

func updateChecks() []check {
	return []check{
		{About: audit.About{
			ID: "updates.security", Name: "Security updates", Severity: audit.High, Weight: 9,
			Reference:   "CIS 1.2.2.1, Lynis PKGS-7392",
			Description: "Attackers first try the holes that are known and that an update closes.",
			Formula:     "PASS when the package manager knows of no pending security update, those that are held, phased or kept back included. FAIL otherwise. Skipped where no package manager can be asked, and where it does not tell what a withheld update closes.",
		}, Run: securityUpdates, Limit: 30 * time.Second},
		{About: audit.About{
			ID: "updates.list_age", Name: "Age of the package lists", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis PKGS-7390",
			Description: "With old package lists the machine does not learn of new updates.",
			Formula:     "PASS when the lists of apt, dnf, zypper, pacman or apk were fetched within 7 days, WARN within 30 days, FAIL for older ones or none. Skipped where they are dated in the future. Does not apply without one of them, and in a container without an init of its own.",
		}, Run: listAge},
		{About: audit.About{
			ID: "updates.automatic", Name: "Automatic updates", Severity: audit.Medium, Weight: 3,
			Reference:   "Lynis PKGS-7420",
			Description: "Security updates that wait for a person wait too long.",
			Formula:     "PASS when unattended-upgrades, with its settings and timers on, fetches the lists and installs at least every 7 days, names an archive to install from and does not hold everything back, or dnf-automatic (with apply_updates and its timer on) installs updates. WARN otherwise. Does not apply in a container without an init of its own. Skipped for other package managers, and for a blacklist that is not understood.",
		}, Run: automaticUpdates},
		{About: audit.About{
			ID: "updates.authenticated", Name: "Signed packages", Severity: audit.High, Weight: 8, Unusual: true,
			Reference:   "CIS 1.2.1.1, Lynis PKGS-7387",
			Description: "Packages whose signature is not checked can be replaced on the way, and root installs them.",
			Formula:     "PASS when no source of apt, dnf, zypper or pacman that is on and no option switches the check of signatures off, and where nothing sets it the manager checks by default, as dnf and pacman do not. FAIL otherwise. Does not apply without one of them.",
		}, Run: signaturesChecked},
		{About: audit.About{
			ID: "updates.security_source", Name: "Source of security updates", Severity: audit.High, Weight: 6,
			Reference:   "Lynis PKGS-7388",
			Description: "Without the archive of security updates none is ever offered.",
			Formula:     "PASS when a source of apt that is switched on and has packages is a security archive of this release, by its suite or as security.debian.org. FAIL otherwise. Applies to releases of Debian and Ubuntu alone.",
		}, Run: securitySource},
		{About: audit.About{
			ID: "updates.supported", Name: "Supported release", Severity: audit.High, Weight: 8,
			Reference:   "Lynis GEN-0010",
			Description: "A release past its end gets no security updates any more.",
			Formula:     "PASS before the end of support, from SUPPORT_END of os-release or from the published dates of Debian (LTS included) and Ubuntu LTS (standard support). WARN in the last 60 days. FAIL after it. Skipped when the date is not known.",
		}, Run: supported},
		{About: audit.About{
			ID: "updates.reboot", Name: "Updates in force", Severity: audit.Medium, Weight: 4,
			Reference:   "Lynis KRNL-5830",
			Description: "Until the reboot the old kernel runs, with the holes that the update closed.",
			Formula:     "PASS when no package asks for a reboot and no newer kernel of the same flavour than the running one is installed. WARN otherwise. Does not apply in a container. Skipped where nothing tells.",
		}, Run: rebootDue},
	}
}

// Why the checks of updates do not apply.
const (
	noPackageManager = "no package manager that is known here"
	imageRenewed     = "a container without an init of its own is updated by a new image"
)

func securityUpdates(ctx context.Context, m *machine) audit.Finding {
	return audit.SecurityUpdates(ctx, m.SecurityUpdates, "the package manager",
		"See them: sentinel --check-updates; then install them: sudo apt-get update && sudo apt-get upgrade, or sudo dnf upgrade --security; what is held, release first: sudo apt-mark unhold PACKAGE")
}

// listSkew is how far in the future lists may be dated by a clock that was set a little.
const listSkew = time.Minute

func listAge(_ context.Context, m *machine) audit.Finding {
	lists := updates.ListsOf(m.Root)
	switch {
	case m.isImage():
		return audit.NotApplicable(imageRenewed)
	case lists.Manager == "":
		return audit.NotApplicable(noPackageManager)
	}
	fix := "Fetch them: " + pending.RefreshCommand(lists.Manager) + "; and see that it is done each day."
	if lists.Fetched.IsZero() {
		return audit.Failed("The lists were never fetched", fix, audit.At("lists of "+lists.Manager, 0, "there are none"))
	}
	age := m.now().Sub(lists.Fetched)
	value := lists.Manager + ", fetched " + humanize.Count(max(0, int(age.Hours()/24)), "day", "days") + " ago"
	evidence := audit.At(lists.File, 0, lists.Fetched.UTC().Format(time.RFC3339))
	switch {
	case age < -listSkew:
		return audit.Unseen(lists.File + " is dated in the future: the clock was wrong then, or is now")
	case age > 30*24*time.Hour:
		return audit.Failed(value, fix, evidence)
	case age > 7*24*time.Hour:
		return audit.Warned(value, fix, evidence)
	default:
		return audit.Passed(value)
	}
}

func automaticUpdates(_ context.Context, m *machine) audit.Finding {
	manager := updates.ListsOf(m.Root).Manager
	switch {
	case m.isImage():
		return audit.NotApplicable(imageRenewed)
	case manager == "":
		return audit.NotApplicable(noPackageManager)
	case manager == "apt":
		return m.unattendedUpgrades()
	case manager == "dnf":
		return m.dnfAutomatic()
	default:
		return audit.Unseen("how " + manager + " updates by itself is not known here")
	}
}

func (m *machine) unattendedUpgrades() audit.Finding {
	const fix = "Install and switch it on: sudo apt install unattended-upgrades; sudo dpkg-reconfigure -plow unattended-upgrades"
	if !m.exists("/usr/bin/unattended-upgrade") {
		return audit.Warned("unattended-upgrades is not installed", fix, audit.At("/usr/bin/unattended-upgrade", 0, "is not there"))
	}
	options, err := m.aptOptions()
	if err != nil {
		return audit.Unread("/etc/apt/apt.conf.d", err)
	}
	if off, is := upgradesOff(options); is {
		off.Fix = cmp.Or(off.Fix, fix)
		return off
	}
	// The first fetches the lists that the second installs from.
	for _, timer := range []string{"apt-daily.timer", "apt-daily-upgrade.timer"} {
		if m.exists("/run/systemd/system") && !m.unitEnabled(timer) {
			return audit.Warned("The timer of unattended-upgrades is off", "Switch it on: sudo systemctl unmask apt-daily.timer apt-daily-upgrade.timer; sudo systemctl enable --now apt-daily.timer apt-daily-upgrade.timer", audit.At(timer, 0, "is not enabled, or masked"))
		}
	}
	return audit.Passed("unattended-upgrades")
}

// listMost is how old lists and updates may become between two runs.
const listMost = 7 * 24 * time.Hour

// upgradesOff is the finding of options with which unattended-upgrades installs nothing, or too late.
func upgradesOff(options aptconf.Options) (f audit.Finding, is bool) {
	const conf = "/etc/apt/apt.conf.d"
	for _, name := range []string{"APT::Periodic::Update-Package-Lists", "APT::Periodic::Unattended-Upgrade"} {
		every, known := periodic(options[strings.ToLower(name)])
		switch {
		case !options.On(name):
			return audit.Warned("unattended-upgrades is switched off", "", audit.At(conf, 0, name+" is not set")), true
		case !known || every > listMost:
			return audit.Warned("Updates are not installed every 7 days", "Set both to \"1\" in a file of "+conf+": APT::Periodic::Update-Package-Lists and APT::Periodic::Unattended-Upgrade", audit.At(conf, 0, fmt.Sprintf("%s %q", name, options[strings.ToLower(name)]))), true
		}
	}
	if enable, set := options["apt::periodic::enable"]; set && enable == "0" {
		return audit.Warned("unattended-upgrades is switched off", "", audit.At(conf, 0, `APT::Periodic::Enable "0"`)), true
	}
	const origins, allowed = "Unattended-Upgrade::Origins-Pattern", "Unattended-Upgrade::Allowed-Origins"
	if len(options.Items(origins))+len(options.Items(allowed)) == 0 {
		return audit.Warned("unattended-upgrades has no archive to install from", "Name the security archive in /etc/apt/apt.conf.d/50unattended-upgrades, as its package does: sudo apt-get install --reinstall -o Dpkg::Options::=--force-confmiss unattended-upgrades",
			audit.At(conf, 0, "neither "+origins+" nor "+allowed+" names one")), true
	}
	return heldBack(options.Items(blacklist))
}

// periodic is what apt.systemd.daily(8) takes for an interval: days, or a number with s, m, h or d, or "always".
func periodic(text string) (every time.Duration, known bool) {
	if text == "always" {
		return 0, true
	}
	unit := 24 * time.Hour
	for suffix, of := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": unit} {
		if number, is := strings.CutSuffix(text, suffix); is {
			text, unit = number, of
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if n > uint64(2*listMost/unit) { // more is too long as well, and would not fit
		return 2 * listMost, err == nil
	}
	return time.Duration(n) * unit, err == nil
}

const blacklist = "Unattended-Upgrade::Package-Blacklist"

// importantPackages are packages whose holes matter, of each kind: who holds back all of them holds back everything.
var importantPackages = []string{"apache2", "bash", "curl", "libc6", "linux-image-amd64", "nginx", "openssh-server", "openssl", "python3", "sudo", "systemd", "zlib1g"}

// heldBack is the finding of a blacklist, whose patterns are of Python and begin with the name of a package.
func heldBack(patterns []string) (f audit.Finding, is bool) {
	free := importantPackages
	for _, pattern := range patterns {
		names, err := regexp.Compile("^(?:" + pattern + ")")
		if err != nil {
			return audit.Unseen(blacklist + " has a pattern that is not understood here: " + sanitize.Quoted(pattern, 60)), true
		}
		free = slices.DeleteFunc(slices.Clone(free), names.MatchString)
	}
	if len(free) > 0 {
		return f, false
	}
	return audit.Warned("unattended-upgrades holds everything back", "Take the pattern out of the list, or name the packages themselves: sudo nano /etc/apt/apt.conf.d/50unattended-upgrades",
		audit.At("/etc/apt/apt.conf.d", 0, blacklist+" "+strings.Join(patterns, " "))), true
}

func (m *machine) dnfAutomatic() audit.Finding {
	const fix = "Install it, set apply_updates = yes in /etc/dnf/automatic.conf, and start it: sudo dnf install dnf-automatic; sudo systemctl enable --now dnf-automatic.timer"
	if m.unitEnabled("dnf-automatic-install.timer") {
		return audit.Passed("dnf-automatic-install")
	}
	value, where, err := m.iniSetting("commands", "apply_updates", "/etc/dnf/automatic.conf")
	if err != nil {
		return audit.Unread("/etc/dnf/automatic.conf", err)
	}
	timer := m.unitEnabled("dnf-automatic.timer") || m.unitEnabled("dnf5-automatic.timer")
	on := map[string]bool{"yes": true, "true": true, "1": true, "on": true}[strings.ToLower(value)]
	switch {
	case timer && on:
		return audit.Passed("dnf-automatic")
	case timer && where == "":
		where = audit.At("/etc/dnf/automatic.conf", 0, "apply_updates is not set")
	case !timer:
		where = audit.At("dnf-automatic.timer", 0, "is not enabled")
	}
	return audit.Warned("Updates are not installed by themselves", fix, where)
}

func rebootDue(_ context.Context, m *machine) audit.Finding {
	const fix = "Reboot when it suits: sudo systemctl reboot"
	if m.container() {
		return audit.NotApplicable("the kernel is that of the host of this container")
	}
	for _, flag := range []string{"/run/reboot-required", "/var/run/reboot-required"} {
		if m.exists(flag) {
			asked, err := m.optionalText(flag + ".pkgs")
			if err != nil {
				asked = ""
			}
			return audit.Warned("Updates wait for a reboot", fix, audit.At(flag, 0, strings.Join(strings.Fields(asked), ", ")))
		}
	}
	release, err := m.text("/proc/sys/kernel/osrelease")
	if err != nil {
		return audit.Unread("the running kernel", err)
	}
	due, err := updates.RebootRequired(m.Root, release)
	switch {
	case err != nil:
		return audit.Unread("the installed kernels", err)
	case due:
		return audit.Warned("A newer kernel than "+release+" is installed", fix, audit.At(path.Join("/boot", "vmlinuz-"+release), 0, "is not the newest"))
	default:
		return audit.Passed(release + " runs")
	}
}
