// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"sentinel/internal/audit"
	"sentinel/internal/clients"
	"sentinel/internal/humanize"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/mcpconf"
)

func mcpChecks() []check {
	return []check{
		{About: audit.About{
			ID: "mcp.config", Name: "Configuration of MCP servers", Severity: audit.High, Weight: 6,
			Reference:   "MITRE ATT&CK T1546",
			Description: "Whoever can write the configuration of an AI assistant decides which programs it starts.",
			Formula:     "PASS when the files of known MCP clients in the homes in /Users belong to that user or root and nobody else can write them. FAIL otherwise. Does not apply without such files.",
		}, Run: mcpConfigs},
		{About: audit.About{
			ID: "mcp.command", Name: "Programs of MCP servers", Severity: audit.High, Weight: 6,
			Reference:   "MITRE ATT&CK T1574",
			Description: "Whoever can write the program of an MCP server runs it as the user of the assistant.",
			Formula:     "PASS when the program and the scripts of each configured MCP server, and the folder of each, belong to that user or root and nobody else can write them; administrators count as root. FAIL otherwise. What that user may not see is left out. Does not apply when no server is configured with a path.",
		}, Run: mcpCommands},
	}
}

var errFullDisk = errors.New("needs full-disk access (System Settings, Privacy & Security)")

// mcpServers are the servers in the files, and which files others can write.
type mcpServers struct {
	mcpconf.Survey[account]
	files int
	wrong []string
}

// mcp reads the configurations, once.
func (m *machine) mcp() (mcpServers, error) {
	return m.servers.Get(func() (mcpServers, error) {
		people, err := m.accounts()
		if err != nil {
			return mcpServers{}, err
		}
		var all mcpServers
		files := clients.HomeFiles("darwin")
		for _, p := range people {
			for _, name := range files {
				all.add(m, p, name)
			}
		}
		return all, nil
	})
}

func (all *mcpServers) add(m *machine, p account, name string) {
	file := path.Join(p.home, name)
	raw, f, err := hostfile.ReadBelow(m.path(p.home), name, clients.MaxFile)
	if missing(err) {
		return
	}
	if m.privileged() && errors.Is(err, fs.ErrPermission) {
		err = errFullDisk
	}
	if err != nil {
		all.Miss(file, err)
		return
	}
	all.files++
	if !m.onlyWritableBy(p.uid, f) {
		all.wrong = append(all.wrong, audit.At(file, 0, f.String()))
	}
	all.Take(file, raw, p)
}

func mcpConfigs(_ context.Context, m *machine) audit.Finding {
	all, err := m.mcp()
	if err != nil {
		return audit.Unread("/Users", err)
	}
	return all.List().Judge(func([]mcpconf.Configured[account]) audit.Finding {
		switch {
		case len(all.wrong) > 0:
			return audit.Failed(humanize.Count(len(all.wrong), "file", "files")+" others can write", "Take the rights of others from each one that is named: chmod go-w FILE. Then read which programs it names.", all.wrong...)
		case all.files == 0:
			return audit.NotApplicable("no MCP client is configured")
		default:
			return audit.Passed(humanize.Count(all.files, "file", "files") + ", each in the hands of its user")
		}
	})
}

func mcpCommands(_ context.Context, m *machine) audit.Finding {
	all, err := m.mcp()
	if err != nil {
		return audit.Unread("/Users", err)
	}
	return all.List().Judge(m.judgeCommands)
}

func (m *machine) judgeCommands(servers []mcpconf.Configured[account]) audit.Finding {
	var wrong []string
	var unread error
	seen := 0
	for _, s := range servers {
		for _, file := range s.Paths() {
			for _, one := range []string{file, path.Dir(file)} {
				f, err := m.statFor(s.User.uid, one)
				if err != nil {
					if !missing(err) {
						unread = err
					}
					continue
				}
				if seen++; !m.onlyWritableBy(s.User.uid, f) {
					wrong = append(wrong, audit.At(one, 0, f.String()))
				}
			}
		}
	}
	slices.Sort(wrong)
	wrong = slices.Compact(wrong)
	switch {
	case len(wrong) > 0:
		return audit.Failed(humanize.Count(len(wrong), "file or folder", "files and folders")+" others can write", "Take the rights of others from each one that is named: sudo chmod go-w FILE. Then read what is in it.", wrong...)
	case unread != nil:
		return m.unread("programs of MCP servers", unread)
	case seen == 0:
		return audit.NotApplicable("no MCP server is configured with a path")
	default:
		return audit.Passed("each in the hands of its user")
	}
}
