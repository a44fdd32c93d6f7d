// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/unix/hostfile"
)

func loggingChecks() []check {
	return []check{
		{About: audit.About{
			ID: "logging.service", Name: "System log", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 6.1.1, Lynis LOGG-2130",
			Description: "Without a log nobody learns what an intruder did, nor that there was one.",
			Formula:     "PASS when systemd-journald, rsyslog, syslog-ng, syslogd, metalog or socklog runs. FAIL otherwise. Does not apply in a container without an init system.",
		}, Run: logService},
		{About: audit.About{
			ID: "logging.kept", Name: "Logs kept over a reboot", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 6.1.1.4, CIS 6.1.2",
			Description: "A log in memory is gone with the reboot that an intruder can force.",
			Formula:     "PASS when a syslog service runs, or journald keeps its journal in /var/log/journal (Storage is persistent, or auto and the folder exists). WARN otherwise. Does not apply when neither runs.",
		}, Run: logKept},
		{About: audit.About{
			ID: "logging.permissions", Name: "Permissions of logs", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 6.1.4, Lynis LOGG-2146",
			Description: "Whoever can write a log removes the traces; some hold what only administrators should read.",
			Formula:     "PASS when no file in /var/log and its folders one level down can be written by everyone, and those with logins, mail and audit records can be read by root and its groups alone. FAIL for a file that everyone can write, WARN for one that everyone can read.",
		}, Run: logPermissions},
		{About: audit.About{
			ID: "logging.audit", Name: "Audit service", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 6.2.1, Lynis ACCT-9628",
			Description: "The kernel's audit shows who changed what as which user; without its service it goes nowhere.",
			Formula:     "PASS when auditd (or laurel, go-audit, auditbeat) runs and its log is there. FAIL when auditd runs and its log is gone. WARN when none runs. Does not apply in a container.",
		}, Run: auditService},
		{About: audit.About{
			ID: "logging.audit_rules", Name: "Audit rules", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 6.2.3, Lynis ACCT-9630",
			Description: "Without rules the audit service records logins and little else.",
			Formula:     "PASS when /etc/audit/rules.d or /etc/audit/audit.rules hold a rule that watches something, and none that takes what every process does out of the records (-a task,never; -a always,exclude without a field; -e 0). WARN otherwise. Skipped when they cannot be read. Does not apply without auditd.",
		}, Run: auditRules},
	}
}

var syslogDaemons = []string{"rsyslogd", "syslog-ng", "syslogd", "metalog", "socklog", "busybox-syslogd"}

func logService(ctx context.Context, m *machine) audit.Finding {
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	p, ok := all.daemon(m, append([]string{"systemd-journal"}, syslogDaemons...)...)
	switch {
	case ok:
		return audit.Passed(p.name + " runs")
	case !all.sawInit:
		return audit.Unseen("/proc does not show all processes")
	case m.container():
		return audit.NotApplicable("the log is that of the host of this container")
	default:
		return audit.Failed("Nothing writes a log", m.startOr("Install one: sudo apt install rsyslog, or sudo dnf install rsyslog", "systemd-journald", "rsyslog", "syslog-ng"), "/proc: neither systemd-journald nor a syslog service runs")
	}
}

func logKept(ctx context.Context, m *machine) audit.Finding {
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	if p, ok := all.daemon(m, syslogDaemons...); ok {
		return audit.Passed(p.name + " writes to disk")
	}
	if _, ok := all.daemon(m, "systemd-journal"); !ok {
		return audit.NotApplicable("no log service runs")
	}
	files, err := m.systemdFiles("journald.conf")
	if err != nil {
		return audit.Unread("journald.conf", err)
	}
	storage, where, err := m.iniSetting("Journal", "Storage", files...)
	if err != nil {
		return audit.Unread("journald.conf", err)
	}
	directory := m.exists("/var/log/journal")
	switch {
	case storage == "persistent", directory && (storage == "auto" || storage == ""):
		return audit.Passed("journald keeps its journal in /var/log/journal")
	case storage == "":
		where = audit.At("/var/log/journal", 0, "is not there, and Storage is not set")
	}
	return audit.Warned("The journal is lost with a reboot", "Keep it: sudo mkdir -p /etc/systemd/journald.conf.d; write [Journal] and Storage=persistent into a file there that ends in .conf; then: sudo systemctl restart systemd-journald", where)
}

// systemdFiles returns the files of a configuration of systemd in the order in which they count, the last one most
// (systemd.conf(5), journald.conf(5)): the first main file, then drop-ins of all folders by their names.
func (m *machine) systemdFiles(name string) ([]string, error) {
	var directories []string
	for _, directory := range []string{"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"} {
		directories = append(directories, directory+"/systemd/"+name)
	}
	files, err := m.dropIns(".conf", appended(directories, ".d")...)
	if main := m.firstExisting(directories...); main != "" {
		files = append([]string{main}, files...)
	}
	return files, err
}

func appended(list []string, ending string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] += ending
	}
	return list
}

// iniSetting returns the last value of a key in configuration files, and where it is set.
func (m *machine) iniSetting(section, key string, files ...string) (value, where string, err error) {
	for _, file := range files {
		text, err := m.unitText(file)
		if err != nil {
			return "", "", err
		}
		if v, line := parseINI(text, section, key); line > 0 {
			value, where = v, audit.At(file, line, key+"="+v)
		}
	}
	return value, where, nil
}

// parseINI returns the last value of a key in a section and its line, 0 for none.
// Names of sections and keys are compared without case, as dnf does.
func parseINI(text, section, key string) (value string, line int) {
	in, n := false, 0
	for one := range strings.Lines(text) {
		n++
		one = strings.TrimSpace(one)
		if name, ok := strings.CutPrefix(one, "["); ok {
			in = strings.EqualFold(strings.TrimSuffix(name, "]"), section)
			continue
		}
		if k, v, ok := strings.Cut(one, "="); ok && in && strings.EqualFold(strings.TrimSpace(k), key) {
			value, line = strings.TrimSpace(v), n
		}
	}
	return value, line
}

// privateLogs hold logins, mail addresses or audit records.
var privateLogs = []string{"auth.log", "secure", "audit", "btmp", "mail.log", "maillog", "syslog", "messages", "user.log", "debug", "sudo.log"}

func logPermissions(_ context.Context, m *machine) audit.Finding {
	var open, readable []audit.Line
	v := fileVerdict{}
	names, err := m.names("/var/log", maxNames)
	if hostfile.Missing(err) {
		return audit.NotApplicable("there is no /var/log")
	}
	if err != nil {
		return audit.Unread("/var/log", err)
	}
	judge := func(file, name string) {
		v.check(m, file, func(f hostfile.Meta) bool {
			line := audit.Line{Text: audit.At(file, 0, f.String()), Owner: m.owner(f.UID)}
			switch {
			case f.Mode.Perm()&0o002 != 0:
				open = append(open, line)
			case f.Mode.Perm()&0o004 != 0 && isPrivate(name):
				readable = append(readable, line)
			}
			return true
		})
	}
	for _, name := range names {
		file := "/var/log/" + name
		judge(file, name)
		below, err := m.names(file, maxNames)
		if err != nil && !hostfile.Missing(err) {
			v.noteUnread(file, err)
		}
		for _, inner := range below {
			judge(file+"/"+inner, name)
		}
	}
	switch fix := "Take the rights of others from each one that is named: sudo chmod o-rwx FILE; and see what creates it (logrotate, rsyslog's umask)."; {
	case len(open) > 0:
		return audit.Failed(humanize.Count(len(open), "log", "logs")+" can be written by everyone", fix).With(open...)
	case len(readable) > 0:
		return audit.Warned(humanize.Count(len(readable), "log", "logs")+" with logins can be read by everyone", fix).With(readable...)
	case v.unread != nil:
		return audit.Unread("/var/log", v.unread)
	default:
		return audit.Passed(humanize.Count(v.seen, "log", "logs"))
	}
}

// isPrivate treats a rotated log, "auth.log.1", as the log that it was.
func isPrivate(name string) bool {
	for _, p := range privateLogs {
		if name == p || strings.HasPrefix(name, p+".") || strings.HasPrefix(name, p+"-") {
			return true
		}
	}
	return false
}

const auditLog = "/var/log/audit/audit.log"

func auditService(ctx context.Context, m *machine) audit.Finding {
	if m.container() {
		return audit.NotApplicable("the kernel's audit belongs to the host of this container")
	}
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	p, ok := all.daemon(m, "auditd", "laurel", "go-audit", "auditbeat", "auditbeat-god")
	switch {
	case !ok && !all.sawInit:
		return audit.Unseen("/proc does not show all processes")
	case !ok:
		return audit.Warned("No audit service runs", m.startOr("Install it: sudo apt install auditd, or sudo dnf install audit", "auditd")+"; then add rules to /etc/audit/rules.d", "/proc: auditd does not run")
	case p.name == "auditd":
		return m.auditLog()
	default:
		return audit.Passed(p.name + " runs")
	}
}

// auditLog looks for the log of auditd where its configuration puts it.
func (m *machine) auditLog() audit.Finding {
	const file = "/etc/audit/auditd.conf"
	text, err := m.optionalText(file)
	if err != nil {
		return audit.Unread(file, err)
	}
	log, line := auditLog, 0
	if v, n := parseINI("[auditd]\n"+text, "auditd", "log_file"); n > 0 {
		log, line = v, n-1
	}
	_, err = m.stat(log)
	if hostfile.Missing(err) {
		return audit.Failed("auditd runs and its log is gone", "Look whether somebody removed it, then: sudo systemctl restart auditd", audit.At(file, line, "log_file = "+log))
	}
	if err != nil {
		return audit.Unread(log, err)
	}
	return audit.Passed("auditd runs")
}

func auditRules(_ context.Context, m *machine) audit.Finding {
	if !m.exists("/etc/audit") {
		return audit.NotApplicable("auditd is not installed")
	}
	files := []string{"/etc/audit/audit.rules"}
	names, err := m.names("/etc/audit/rules.d", maxNames)
	if err != nil && !hostfile.Missing(err) {
		return audit.Unread("/etc/audit/rules.d", err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".rules") {
			files = append(files, "/etc/audit/rules.d/"+name)
		}
	}
	rules := 0
	var off []string
	for _, file := range files {
		text, err := m.optionalText(file)
		if err != nil {
			return audit.Unread(file, err)
		}
		here, switchedOff := countRules(text)
		rules += here
		if switchedOff > 0 {
			off = append(off, audit.At(file, switchedOff, "takes what every process does out of the records"))
		}
	}
	if len(off) > 0 {
		return audit.Warned("A rule switches the others off", "Remove the line from the files of /etc/audit/rules.d; then: sudo augenrules --load", off...)
	}
	if rules == 0 {
		return audit.Warned("No rule watches anything", "Add rules, such as those in /usr/share/doc/auditd/examples, to /etc/audit/rules.d; then: sudo augenrules --load", audit.At("/etc/audit/rules.d", 0, "no line with -w or -a"))
	}
	return audit.Passed(humanize.Count(rules, "rule", "rules"))
}

// countRules counts the lines of auditctl(8) that watch a file or a system call, and returns the number of the
// line that has nothing come of them, 0 for none: "-a task,never", as Fedora has it, "-a always,exclude" without
// a field to choose by, or "-e 0".
func countRules(text string) (rules, switchedOff int) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		switch list := strings.Split(f[1], ","); f[0] { // in either order
		case "-e":
			if f[1] == "0" {
				switchedOff = n
			}
		case "-w":
			rules++
		case "-a", "-A":
			every := !slices.Contains(f, "-F")
			never, exclude := slices.Contains(list, "never"), slices.Contains(list, "exclude")
			if every && (never && slices.Contains(list, "task") || exclude) {
				switchedOff = n
			}
			if !never && !exclude {
				rules++
			}
		}
	}
	return rules, switchedOff
}
