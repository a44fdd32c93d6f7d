// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/privilege"
	"sentinel/internal/processes"
	"sentinel/internal/userdb"
)

// A processDocument answers get_process_details.
type processDocument struct {
	answer.Header
	processes.Inspection
}

func runProcessDetails(ctx context.Context, s session, call invocation) (document, error) {
	i, err := processes.Inspect(ctx, s.host.Inspector, call.args.Int("pid"), s.sees())
	if err != nil {
		return nil, err
	}
	d := &processDocument{answer.NewHeader(call.op.Action, true), i}
	if call.request {
		fit(d, usualAnswer, d.Cut)
	}
	return *d, nil
}

// sees says whether the person behind sudo could list a path that a process of another user has open.
// Root itself sees all, and who is not root has read nothing but his own.
func (s session) sees() func(owner int, path string) bool {
	if !limited(s.who) {
		return nil
	}
	who := identityOf(s.host.Root, *s.who.SudoUID)
	return func(owner int, path string) bool {
		if owner == who.UID {
			return true
		}
		seen := false
		err := privilege.Look(who, func() { seen = s.host.Listable(path) })
		return err == nil && seen
	}
}

// identityOf reads the groups of a user. Whom the files do not know is in none.
func identityOf(root string, uid int) privilege.Identity {
	const noGroup = 65534
	id, name := privilege.Identity{UID: uid, GID: noGroup}, ""
	users, _ := userdb.Passwd(readTable(root, "passwd"))
	for _, u := range users {
		if u.UID == uid {
			id.GID, name = u.GID, u.Name
			break
		}
	}
	groups, _ := userdb.Groups(readTable(root, "group"))
	for _, g := range groups {
		for _, member := range g.Members {
			if member == name && name != "" {
				id.Groups = append(id.Groups, g.GID)
			}
		}
	}
	return id
}

func readTable(root, name string) []byte {
	raw, err := os.ReadFile(filepath.Join(root, "etc", name))
	if err != nil || len(raw) > userdb.MaxFile {
		return nil
	}
	return raw
}

func (d processDocument) view(p *page) {
	tone, word := calm, "PROCESS"
	if len(d.Notable) > 0 && d.Notable[0].Severity != "info" {
		tone, word = warn, "LOOK"
	}
	p.verdict(tone, word, d.Summary)
	for _, n := range d.Notable {
		p.item("%s", n.Message)
	}
	p.facts(d.facts())
	if d.OpenFiles != nil && len(d.OpenFiles.Files) > 0 {
		var rows [][]string
		for _, f := range d.OpenFiles.Files[:min(5, len(d.OpenFiles.Files))] {
			rows = append(rows, []string{strconv.Itoa(f.FD), f.Kind, f.Path})
		}
		p.table(fmt.Sprintf("open: %s", kindsText(d.OpenFiles.ByKind)), []column{{title: "fd", right: true}, {title: "kind"}, {title: "file"}}, rows)
	}
	if d.Sockets != nil && len(d.Sockets.Sockets) > 0 {
		var rows [][]string
		for _, s := range d.Sockets.Sockets[:min(5, len(d.Sockets.Sockets))] {
			rows = append(rows, []string{s.Protocol, s.State, s.Local, known(s.Remote)})
		}
		p.table(fmt.Sprintf("sockets: %s", kindsText(d.Sockets.ByState)), []column{{title: "protocol"}, {title: "state"}, {title: "local"}, {title: "remote"}}, rows)
	}
	p.gaps(d.Unavailable)
}

func (d processDocument) facts() [][]string {
	var rows [][]string
	add := func(title, text string) {
		if text != "" {
			rows = append(rows, []string{title, text})
		}
	}
	add("command", d.Command)
	add("waits for", d.WaitsFor)
	if pr := d.Program; pr != nil {
		add("program", programText(pr))
	}
	add("parents", kinText(d.Ancestry))
	if d.ChildrenAll > 0 {
		add("children", fmt.Sprintf("%s: %s", humanize.Count(d.ChildrenAll, "child", "children"), kinText(d.Children)))
	}
	if m := d.Memory; m != nil {
		add("memory", memoryKindsText(m))
	}
	if g := d.ControlGroup; g != nil {
		add("group", groupText(g))
	}
	return rows
}

func programText(p *processes.Program) string {
	parts := []string{p.Path, p.State}
	switch {
	case p.OfPackage != nil && *p.OfPackage:
		parts = append(parts, "of "+p.Package+" "+p.PackageVersion)
	case p.OfPackage != nil:
		parts = append(parts, "of no package")
	}
	if p.Signature != "" {
		parts = append(parts, p.Signature)
	}
	return strings.Join(parts, ", ")
}

func kinText(list []processes.Kin) string {
	var names []string
	for _, k := range list[:min(6, len(list))] {
		names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(k.Name, "?"), k.PID))
	}
	return strings.Join(names, ", ")
}

func memoryKindsText(m *processes.MemoryKinds) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%.1f MiB resident", m.ResidentMB)
	for _, part := range []struct {
		value *float64
		name  string
	}{{m.AnonymousMB, "own"}, {m.FileMB, "of files"}, {m.SharedMB, "shared"}, {m.HugeMB, "beside that in huge pages"}, {m.TablesMB, "beside that in page tables"}, {m.SwapMB, "swapped out"}, {m.PeakMB, "at most"}} {
		if part.value != nil && *part.value > 0 {
			fmt.Fprintf(&text, ", %.1f %s", *part.value, part.name)
		}
	}
	return text.String()
}

func groupText(g *processes.ControlGroup) string {
	text := g.Path
	if g.MemoryMB != nil {
		text += fmt.Sprintf(", %.0f MiB", *g.MemoryMB)
	}
	if g.MemoryLimitMB != nil {
		text += fmt.Sprintf(" of at most %.0f", *g.MemoryLimitMB)
	}
	if g.CPULimitCores != nil {
		text += fmt.Sprintf(", at most %.1f cores", *g.CPULimitCores)
	}
	return text
}

func kindsText(list []processes.KindCount) string {
	var parts []string
	for _, k := range list {
		parts = append(parts, fmt.Sprintf("%d %s", k.Count, k.Kind))
	}
	return strings.Join(parts, ", ")
}
