// SPDX-License-Identifier: Apache-2.0

//go:build linux

package processes

import (
	"path/filepath"
	"slices"

	"sentinel/internal/processes"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
)

// maxSwitch bounds nsswitch.conf(5), in bytes.
const maxSwitch = 64 << 10

// lookups are the daemons that answer for sources of nsswitch.conf(5) other than files.
var lookups = []struct{ sources, daemons []string }{
	{[]string{"sss"}, []string{"sssd", "sssd_be", "sssd_nss", "sssd_pam"}},
	{[]string{"winbind"}, []string{"winbindd"}},
	{[]string{"ldap"}, []string{"nslcd"}},
	{[]string{"nis", "nisplus", "compat"}, []string{"ypbind"}},
	{[]string{"lsass"}, []string{"lwsmd", "lsassd"}},
	{[]string{"vas3", "vas4"}, []string{"vasd"}},
	{[]string{"centrifydc"}, []string{"adclient"}},
	{[]string{"himmelblau"}, []string{"himmelblaud"}},
	{[]string{"authd"}, []string{"authd"}},
}

// lookupRule protects the daemons without which the system knows no people. Those of sources that are not in use are
// not protected; where that cannot be read, all are. A restart does no harm: it is what helps.
func (t *Terminator) lookupRule() processes.CriticalRule {
	raw, err := hostfile.Read(filepath.Join(t.root, "etc/nsswitch.conf"), maxSwitch)
	used := userdb.NameSources(raw, "passwd", "group", "shadow", "initgroups")
	rule := processes.CriticalRule{Accounts: []string{"sssd", "nslcd"}, Why: "people are known to this machine, and log in, through it"}
	for _, l := range lookups {
		if err != nil && !hostfile.Missing(err) || slices.ContainsFunc(used, func(s string) bool { return slices.Contains(l.sources, s) }) {
			rule.Names = append(rule.Names, l.daemons...)
		}
	}
	return rule
}
