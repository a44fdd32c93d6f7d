package netfilter

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
)

// saveTimeout bounds iptables-legacy-save.
const saveTimeout = 3 * time.Second

// A Legacy reads x_tables rules, which only their own tools can print.
type Legacy struct {
	Root   string // "/" on a live system
	Runner sysexec.Runner
}

// family is one protocol family of x_tables.
type family struct {
	names string // file below /proc/net with the tables that are loaded
	tools []string
}

var families = []family{
	{"ip_tables_names", []string{"/usr/sbin/iptables-legacy-save", "/sbin/iptables-save"}},
	{"ip6_tables_names", []string{"/usr/sbin/ip6tables-legacy-save", "/sbin/ip6tables-save"}},
}

// Chains reads the filter tables of IPv4 and IPv6. A kernel without x_tables,
// or with no filter table loaded, has none.
func (l Legacy) Chains(ctx context.Context) ([]firewall.Chain, error) {
	var all []firewall.Chain
	for _, f := range families {
		loaded, err := l.loaded(f.names)
		if err != nil {
			return nil, err
		}
		if !loaded {
			continue
		}
		chains, err := l.save(ctx, f.tools)
		if err != nil {
			return nil, err
		}
		all = append(all, chains...)
	}
	return all, nil
}

func (l Legacy) loaded(names string) (bool, error) {
	raw, err := os.ReadFile(filepath.Join(l.Root, "proc", "net", names))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read x_tables: %w", err)
	}
	return slices.Contains(strings.Fields(string(raw)), "filter"), nil
}

func (l Legacy) save(ctx context.Context, tools []string) ([]firewall.Chain, error) {
	tool := ""
	for _, t := range tools {
		if _, err := os.Stat(filepath.Join(l.Root, t)); err == nil {
			tool = t
			break
		}
	}
	if tool == "" {
		return nil, errors.New("only iptables-legacy-save could show them, and it is not installed")
	}
	r, err := l.Runner.Run(ctx, sysexec.Command{Path: tool, Args: []string{"-t", "filter"}, Timeout: saveTimeout})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("not printed by %s, which ended with status %d", tool, r.Exit)
	}
	return parseSave(r.Stdout)
}

// parseSave parses the format of iptables-save(8): ":CHAIN POLICY [n:n]" opens
// a chain, "-A CHAIN ... -j TARGET" is a rule, COMMIT ends the table.
func parseSave(b []byte) ([]firewall.Chain, error) {
	var chains []firewall.Chain
	complete := false
	scan := bufio.NewScanner(bytes.NewReader(b))
	scan.Buffer(nil, sysexec.DefaultMaxOutput)
	for scan.Scan() {
		line := strings.TrimSpace(scan.Text())
		switch {
		case strings.HasPrefix(line, ":"):
			chains = append(chains, parseChain(line[1:]))
		case strings.HasPrefix(line, "-A "):
			addRule(chains, strings.Fields(line))
		case line == "COMMIT":
			complete = true
		}
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if !complete {
		return nil, errors.New("cut off: iptables-save printed no COMMIT")
	}
	return chains, nil
}

func parseChain(line string) firewall.Chain {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return firewall.Chain{Table: "filter"}
	}
	return firewall.Chain{
		Table: "filter", Name: fields[0], Input: fields[0] == "INPUT",
		DropPolicy: len(fields) > 1 && fields[1] == "DROP",
	}
}

// addRule notes what a rule does with a packet. The last -j or -g counts: a
// quoted comment before it may hold the same letters.
func addRule(chains []firewall.Chain, fields []string) {
	at := slices.IndexFunc(chains, func(c firewall.Chain) bool { return len(fields) > 1 && c.Name == fields[1] })
	target := ""
	for i := len(fields) - 2; i > 1 && target == ""; i-- {
		if fields[i] == "-j" || fields[i] == "-g" {
			target = fields[i+1]
		}
	}
	switch {
	case at < 0 || target == "":
	case target == "DROP" || target == "REJECT" || target == "TARPIT":
		chains[at].Drops = true
	default:
		chains[at].Jumps = append(chains[at].Jumps, target)
	}
}
