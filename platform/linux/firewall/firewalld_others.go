// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

// savePrograms print the rules of iptables, each of the variant, nft or legacy, that firewalld runs, too.
var savePrograms = []string{"/usr/sbin/iptables-save", "/usr/sbin/ip6tables-save", "/usr/sbin/ebtables-save"}

const (
	firewalldConfiguration = "etc/firewalld/firewalld.conf"
	// maxNamed bounds how many things a refusal names.
	maxNamed = 6
)

var _ firewall.Careful = (*firewalld)(nil)

// Reversible implements [firewall.Careful]. firewalld empties the tables of iptables, ip6tables and ebtables
// when it starts, and when it stops, with either of its back ends.
func (f *firewalld) Reversible(ctx context.Context) error {
	others, err := f.others(ctx)
	if err != nil || len(others) == 0 {
		return err
	}
	return emptied("starts", others).
		WithFix("To keep them and filter without firewalld: sudo systemctl mask firewalld.service, then sudo sentinel --fix-firewall. " +
			"To use firewalld: at a console of the machine, sudo systemctl enable --now firewalld.service, then restart what loads these rules, such as docker.service or wg-quick.")
}

// emptied is the refusal of a trial that would lose the rules of others.
func emptied(when string, others []string) *fault.Error {
	return fault.New(fault.FirewallFailed, "firewalld empties the tables of iptables when it "+when+
		", and a trial that is taken back may not bring back what stands there: "+named(others)+".")
}

// named lists what a refusal is about.
func named(list []string) string {
	text := strings.Join(list[:min(len(list), maxNamed)], "; ")
	if more := len(list) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return sanitize.Text(text, 500)
}

// A save is what one of the [savePrograms] printed.
type save struct {
	program string
	rules   []byte
	others  []string // the chains in which there is something
}

func (f *firewalld) saves(ctx context.Context) ([]save, error) {
	// With nftables firewalld sets no policies; earlier versions have the other back end where none is named.
	policies := ufwSetting(f.m.root, firewalldConfiguration, "FirewallBackend") != "nftables"
	var all []save
	for _, program := range savePrograms {
		if !f.m.installed(program) {
			continue // firewalld does without it as well
		}
		out, err := f.m.run(ctx, askLimit, program)
		if err != nil {
			return all, err
		}
		tool := strings.TrimSuffix(filepath.Base(program), "-save")
		all = append(all, save{program, out, othersIn(tool, string(out), policies)})
	}
	return all, nil
}

func (f *firewalld) others(ctx context.Context) (all []string, err error) {
	saves, err := f.saves(ctx)
	for _, s := range saves {
		all = append(all, s.others...)
	}
	return all, err
}

// load puts the rules of others in again, behind those that are there.
func (f *firewalld) load(ctx context.Context, s save) error {
	if len(s.others) == 0 {
		return nil
	}
	program := strings.TrimSuffix(s.program, "-save") + "-restore"
	r, err := f.m.runner.Run(ctx, sysexec.Command{Path: program, Args: []string{"--noflush"}, Stdin: s.rules, Timeout: askLimit, MaxOutput: maxPrinted})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("%s ended with status %d: %s", program, r.Exit, firstLine(r.Stderr))
	}
	if err != nil {
		return fmt.Errorf("the rules of others are gone (%s): %w", named(s.others), err)
	}
	return nil
}

// othersIn takes the chains out of what a program such as iptables-save(8) prints.
func othersIn(tool, saved string, policies bool) []string {
	var found []string
	for _, table := range tablesIn(saved) {
		for name, rules := range table.chains {
			if slices.ContainsFunc(rules, func(r []string) bool { return !table.idle(r) && !ownList(r) }) {
				found = append(found, tool+" "+table.name+" "+name)
			}
		}
		for name, policy := range table.policies {
			if policies && policy == "DROP" {
				found = append(found, tool+" "+table.name+" "+name+" (policy)")
			}
		}
	}
	slices.Sort(found)
	return found
}

// A savedTable is one of those that iptables-save(8) prints.
type savedTable struct {
	name     string
	policies map[string]string
	chains   map[string][][]string // the words of each rule
}

func tablesIn(saved string) (tables []savedTable) {
	for line := range strings.Lines(saved) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0][0] == '*':
			tables = append(tables, savedTable{fields[0][1:], map[string]string{}, map[string][][]string{}})
		case len(fields) < 2 || len(tables) == 0:
		case fields[0][0] == ':':
			t := tables[len(tables)-1]
			t.policies[fields[0][1:]] = fields[1]
		case fields[0] == "-A":
			t := tables[len(tables)-1]
			t.chains[fields[1]] = append(t.chains[fields[1]], fields)
		}
	}
	return tables
}

// idle is whether a rule does nothing: it jumps to a chain without rules, such as those that a ufw that is off
// leaves behind.
func (t savedTable) idle(rule []string) bool {
	target := targetOf(rule)
	return t.policies[target] != "" && len(t.chains[target]) == 0 && slices.Contains(rule, "-j")
}

// ownList is whether a rule is one of sentinel's list of blocked addresses, which --restore-blocklist loads again.
func ownList(fields []string) bool {
	return fields[1] == firewall.OwnChain || targetOf(fields) == firewall.OwnChain
}

func targetOf(fields []string) string {
	for i, word := range fields[:len(fields)-1] {
		if word == "-j" || word == "-g" {
			return fields[i+1]
		}
	}
	return ""
}
