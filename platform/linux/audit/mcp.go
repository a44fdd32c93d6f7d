// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/clients"
	"sentinel/internal/humanize"
	"sentinel/internal/userdb"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/mcpconf"
)

// mcpLimit bounds a check that looks at the homes, or waits for another that does, and at programs.
const mcpLimit = looksLimit + looksCheckLimit

func mcpChecks() []check {
	return []check{
		{About: audit.About{
			ID: "mcp.config", Name: "Configuration of MCP servers", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "MITRE ATT&CK T1546",
			Description: "Whoever can write the configuration of an AI assistant decides which programs it starts.",
			Formula:     "PASS when the files of known MCP clients, system-wide and in the homes of users, belong to that user or root and nobody else can write them. FAIL otherwise. Does not apply without such files.",
		}, Run: mcpConfigs, Limit: looksCheckLimit},
		{About: audit.About{
			ID: "mcp.command", Name: "Programs of MCP servers", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "MITRE ATT&CK T1574",
			Description: "Whoever can write the program of an MCP server runs it as the user of the assistant.",
			Formula:     "PASS when the program and the scripts of each configured MCP server, and the folder of each, belong to that user or root and nobody else can write them. FAIL otherwise. What that user may not see is left out. Does not apply when no server is configured with a path.",
		}, Run: mcpCommands, Limit: mcpLimit},
		{About: audit.About{
			ID: "mcp.missing", Name: "MCP servers without a program", Severity: audit.Low, Weight: 2,
			Reference:   "MITRE ATT&CK T1574",
			Description: "An assistant that is configured to start a missing program starts whatever somebody puts there.",
			Formula:     "PASS when the program of each configured MCP server exists where its user can see it. WARN otherwise. Does not apply when no server is configured.",
		}, Run: mcpMissing, Limit: mcpLimit},
	}
}

// mcpServers are the servers in the files, and whether others can write the files.
type mcpServers struct {
	mcpconf.Survey[userdb.User]
	files fileVerdict
}

// mcp reads the configurations once.
func (m *machine) mcp(ctx context.Context) (mcpServers, error) {
	return m.mcpServers.Get(func() (mcpServers, error) {
		who, err := m.users()
		if err != nil {
			return mcpServers{}, err
		}
		var all mcpServers
		for _, file := range clients.ManagedFiles("linux") {
			all.add(m, who, userdb.User{Home: path.Dir(file), UID: m.Owner, GID: m.Owner}, path.Base(file))
		}
		files := clients.HomeFiles("linux")
		l, end := m.looks(ctx)
		defer end()
		root := userdb.User{Name: "root", UID: m.Owner, GID: m.Owner, Home: "/root"}
		for i, u := range append([]userdb.User{root}, who.loginUsers()...) {
			if i > maxHomes {
				all.Miss("/home", hostfile.ErrTooLarge)
				break
			}
			part, err := asUser(l, u, u.Home, func() (part mcpServers) {
				for _, file := range files {
					part.add(m, who, u, file)
				}
				return part
			})
			all.Join(part.Survey)
			all.files.join(part.files)
			if err != nil {
				all.Miss(u.Home, err)
			}
		}
		return all, nil
	})
}

// add reads one file below a home.
func (all *mcpServers) add(m *machine, who localUsers, u userdb.User, name string) {
	file := path.Join(u.Home, name)
	raw, f, err := hostfile.ReadBelow(m.path(u.Home), name, clients.MaxFile)
	if hostfile.Missing(err) || u.Home == "/" {
		return
	}
	if errors.Is(err, fs.ErrPermission) && m.looksForOthers() {
		if m.onFUSE(file) {
			all.Miss(file, errOnFUSE)
		}
		return
	}
	if err != nil {
		all.Miss(file, err)
		return
	}
	all.files.seen++
	if f.UID != u.UID && f.UID != m.Owner || !m.onlyUserWrites(who, u.GID, f) {
		all.files.wrong = append(all.files.wrong, audit.Line{Text: audit.At(file, 0, f.String()), Owner: m.owner(u.UID)})
	}
	all.Take(file, raw, u)
}

func mcpConfigs(ctx context.Context, m *machine) audit.Finding {
	all, err := m.mcp(ctx)
	if err != nil {
		return audit.Unread("accounts", err)
	}
	v := all.files
	v.okValue, v.fix, v.unread = "each in the hands of its user", "Take the rights of others from each one that is named: chmod go-w FILE. Then read which programs it names.", nil
	return all.List().Judge(func([]configured) audit.Finding { return v.finding() })
}

// A configured is a server of a user.
type configured = mcpconf.Configured[userdb.User]

func mcpCommands(ctx context.Context, m *machine) audit.Finding {
	all, err := m.mcp(ctx)
	if err != nil {
		return audit.Unread("accounts", err)
	}
	who, err := m.users()
	if err != nil {
		return audit.Unread("accounts", err)
	}
	v := fileVerdict{okValue: "each in the hands of its user", fix: "Take the rights of others from each one that is named, and from its folder: sudo chmod go-w FILE. Then read what is in it."}
	return all.List().Judge(func(servers []configured) audit.Finding {
		m.asEach(ctx, servers, &v, func(v *fileVerdict, s configured) {
			for _, file := range s.Paths() {
				for _, one := range []string{file, path.Dir(file)} {
					v.checkNamed(m, one, func(f hostfile.Meta) bool { return m.safeFor(who, s.User, f) })
				}
			}
		})
		slices.SortFunc(v.wrong, func(a, b audit.Line) int {
			return cmp.Or(strings.Compare(a.Text, b.Text), strings.Compare(a.Owner, b.Owner))
		})
		v.wrong = slices.CompactFunc(v.wrong, func(a, b audit.Line) bool { return a.Text == b.Text })
		return v.finding()
	})
}

// asEach looks at each server with the rights of its user.
func (m *machine) asEach(ctx context.Context, servers []configured, v *fileVerdict, look func(v *fileVerdict, s configured)) {
	l, end := m.looks(ctx)
	defer end()
	for _, s := range servers {
		part, err := asUser(l, s.User, placeOf(s), func() fileVerdict {
			part := fileVerdict{owner: m.owner(s.User.UID)}
			look(&part, s)
			return part
		})
		v.join(part)
		if err != nil {
			v.noteUnread(s.File, err)
		}
	}
}

// placeOf is where a server is looked for: its program, or the home where it is in none or in several places.
func placeOf(s configured) string {
	if paths := s.Paths(); len(paths) > 0 {
		return paths[0]
	}
	return s.User.Home
}

// safeFor says whether only a user and root can change a file, or replace one in
// a directory.
func (m *machine) safeFor(who localUsers, u userdb.User, f hostfile.Meta) bool {
	if f.Mode.IsDir() && f.Mode&fs.ModeSticky != 0 && f.UID == m.Owner {
		return true
	}
	return m.onlyRootWrites(f) || f.UID == u.UID && m.onlyUserWrites(who, u.GID, f) || f.UID == m.Owner && m.onlyUserWrites(who, u.GID, f)
}

func mcpMissing(ctx context.Context, m *machine) audit.Finding {
	all, err := m.mcp(ctx)
	if err != nil {
		return audit.Unread("accounts", err)
	}
	return all.List().Judge(func(servers []configured) audit.Finding {
		var v fileVerdict
		m.asEach(ctx, servers, &v, func(v *fileVerdict, s configured) {
			if s.Command != "" && !m.findable(s.User, s.Command) {
				v.wrong = append(v.wrong, audit.Line{Text: audit.At(s.File, 0, s.Name+" runs "+s.Command), Owner: v.owner})
			}
		})
		switch {
		case len(v.wrong) > 0:
			return audit.Warned(humanize.Count(len(v.wrong), "MCP server has", "MCP servers have")+" no program", "Remove what is named from the configuration, or install it.").With(v.wrong...)
		case v.unread != nil:
			return v.finding()
		case len(servers) == 0:
			return audit.NotApplicable("no MCP server is configured")
		default:
			return audit.Passed(humanize.Count(len(servers), "MCP server", "MCP servers"))
		}
	})
}

// findable says whether a command is there: by its path, or by its name in the
// directories that users commonly search.
func (m *machine) findable(u userdb.User, command string) bool {
	if strings.HasPrefix(command, "/") {
		return m.mayExist(command)
	}
	if strings.Contains(command, "/") || strings.HasPrefix(command, "~") || strings.Contains(command, "$") {
		return true // relative to a directory that is not known here
	}
	dirs := []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin", "/snap/bin", "/opt/homebrew/bin"}
	for _, own := range []string{".local/bin", "bin", ".cargo/bin", ".bun/bin", ".deno/bin", "go/bin", ".volta/bin", ".nvm", ".asdf", ".local/share/mise", ".pyenv", ".nix-profile/bin", "miniconda3", "anaconda3", ".npm-global/bin", ".local/share/fnm", ".local/share/pnpm"} {
		dirs = append(dirs, path.Join(u.Home, own))
	}
	for i, directory := range dirs {
		manager := i >= 8 && !strings.HasSuffix(directory, "bin") // keeps programs in one directory per version
		if manager && m.mayExist(directory) || !manager && m.mayExist(path.Join(directory, command)) {
			return true
		}
	}
	return false
}

// mayExist is also true for a file that cannot be examined, unless root looks with the rights of the
// user: what that user cannot see no program of the user starts.
func (m *machine) mayExist(file string) bool {
	_, err := m.stat(file)
	return err == nil || !hostfile.Missing(err) && !m.looksForOthers()
}
