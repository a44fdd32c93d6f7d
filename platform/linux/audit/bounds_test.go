// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/audit/filetree"
)

// overlong has, for each bound of what a check reads, a system that goes beyond it with nothing wrong
// in what is read, and the check.
var overlong = map[string]struct {
	id    string
	files func() map[string]string
}{
	"maxFile": {"services.snmp", func() map[string]string {
		return map[string]string{"etc/snmp/snmpd.conf": strings.Repeat("#\n", maxFile)}
	}},
	"maxUnitFiles": {"files.units", func() map[string]string {
		files := map[string]string{}
		for i := range maxUnitFiles/maxNames + 2 { // of which each has as many as a folder may
			maps.Copy(files, many(fmt.Sprintf("etc/systemd/system/a%d.service.d/", i), maxNames))
		}
		return files
	}},
	"maxNames":      {"files.cron", func() map[string]string { return many("etc/cron.d/", maxNames+1) }},
	"maxPrograms":   {"tree.unpackaged", func() map[string]string { return with(many("usr/bin/", maxPrograms+1), "var/lib/dpkg/status", "x\n") }},
	"maxInterfaces": {"network.promiscuous", func() map[string]string { return many("sys/class/net/", maxInterfaces+1) }},
	"maxIncluded": {"sudo.nopasswd", func() map[string]string {
		return with(many("etc/sudoers.d/", maxIncluded+1), "etc/sudoers", "@includedir /etc/sudoers.d\n")
	}},
	"maxSwaps": {"disk.swap", func() map[string]string {
		return map[string]string{"proc/swaps": "Filename Type Size\n" + strings.Repeat("/dev/zram0 partition 1 0 -2\n", maxSwaps+1)}
	}},
	"maxSNMPFiles": {"services.snmp", func() map[string]string {
		files := map[string]string{"etc/snmp/snmpd.conf": "includeDir /etc/snmp/many\n"}
		for i := range maxSNMPFiles {
			files[fmt.Sprintf("etc/snmp/many/%d.conf", i)] = "#\n"
		}
		return files
	}},
	"maxSNMPDepth": {"services.snmp", func() map[string]string {
		return chain("etc/snmp/snmpd.conf", "", "includeFile /etc/snmp/%d.conf\n", "etc/snmp/%d.conf", maxSNMPDepth+1)
	}},
	"maxPacmanFiles": {"updates.authenticated", func() map[string]string {
		return with(pacmanFiles("[options]\nSigLevel = Required\n"+strings.Repeat("Include = /etc/own/a.list\n", maxPacmanFiles), "#\n", ""), "etc/own/b", "")
	}},
	"maxPacmanDepth": {"updates.authenticated", func() map[string]string {
		files := pacmanFiles("", "", "")
		maps.Copy(files, chain("etc/pacman.conf", "[options]\nSigLevel = Required\n", "Include = /etc/own/%d\n", "etc/own/%d", maxPacmanDepth+1))
		return files
	}},
	"maxHomes": {"mcp.missing", func() map[string]string {
		var accounts strings.Builder
		for i := range maxHomes + 2 {
			fmt.Fprintf(&accounts, "u%d:x:%d:1000::/home/u%d:/bin/sh\n", i, 1000+i, i)
		}
		return map[string]string{"etc/passwd": accounts.String(), "etc/group": "", "bin/sh": "", "home/u0/.cursor/mcp.json": `{"mcpServers": {"s": {"command": "/bin/sh"}}}`}
	}},
}

// otherBounds are those that no list of a check is cut at: what they bound is said to be unread where it
// is longer, or is tested where it is named.
var otherBounds = []string{
	"maxFound",       // TestFilesBeyondTheBoundAreNoPass
	"maxOfUser",      // TestFilesOfAUserHideNoneOfOthers
	"maxOfUsers",     // TestFilesBeyondTheBoundAreNoPass
	"maxWalkEntries", // walkResult.incomplete, and an error
	"maxProcesses", "maxComm",
	"maxSSHServers",                     // TestNoMoreServersOfSSHAreJudgedThanTheirBound
	"maxClones",                         // TestNoMoreClonesAreComparedThanTheirBound
	"maxLinks",                          // beyond it the kernel refuses the path as well
	"maxThreads",                        // of which one that is seen is enough
	"maxPlace", "maxSentOn", "maxTyped", // of a name that is shown
}

// chain is a file that includes another, which includes the next, and so on.
func chain(first, begins, include, name string, n int) map[string]string {
	files := map[string]string{first: begins + fmt.Sprintf(include, 0)}
	for i := range n {
		files[fmt.Sprintf(name, i)] = fmt.Sprintf(include, i+1)
	}
	files[fmt.Sprintf(name, n)] = "#\n"
	return files
}

func many(directory string, n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%s%d", directory, i)] = ""
	}
	return files
}

// Nothing passes for what lies beyond a bound.
func TestNoCheckPassesOverAListThatWasCut(t *testing.T) {
	for name, c := range overlong {
		if f := one(t, c.id, Parts{Root: testenv.Plant(t, c.files()), Owner: os.Geteuid(), EUID: 0, Now: today}); f.Status == audit.Pass {
			t.Errorf("%s: %s passes: %+v", name, c.id, f)
		}
	}
}

func TestFilesBeyondTheBoundAreNoPass(t *testing.T) {
	for _, owners := range []int{1, maxOfUsers + 1} { // the system alone, and very many users
		r := &walkResult{}
		for i := range maxOfUsers + 1 {
			f := foundFile{path: fmt.Sprintf("/usr/local/bin/%d", i), Entry: filetree.Entry{Mode: 0o755}}
			if owners > 1 {
				f.owner = fmt.Sprint(i)
			}
			r.programs.add(f)
		}
		r.programs.add(foundFile{path: "/usr/bin/of-the-system"})
		m := &machine{}
		if f := r.list(&r.programs).Find(m.othersCanChange).Judge(func([]foundFile) audit.Finding { return audit.Passed("") }); f.Status == audit.Pass {
			t.Errorf("%d owners: %+v", owners, f)
		}
		if first := r.programs.sorted()[0]; owners > 1 && (first.path != "/usr/bin/of-the-system" || len(r.programs.list) != maxOfUsers+1) {
			t.Errorf("%d owners: %d files, the first %s", owners, len(r.programs.list), first.path)
		}
	}
}

// A verdict that is missing says where the first folder is that could not be read.
func TestAWalkThatIsNotWholeSaysWhere(t *testing.T) {
	r := walkResult{sum: filetree.Sum{Unseen: 2, UnseenAt: "/srv/\"odd\""}}
	r.unread++
	if got := r.incomplete(); got != `folders and files that could not be read: 3, the first in "/srv/'odd'"` {
		t.Error(got)
	}
	r.sum = filetree.Sum{}
	if got := r.incomplete(); got != "folders and files that could not be read: 1" {
		t.Error(got)
	}
	r.sum = filetree.Sum{Cut: true, Entries: 7, Stuck: 2, StuckAt: "/srv/held", StuckOwner: 1000}
	if got := r.incomplete(); got != `folders that do not answer: 2, such as "/srv/held" of user 1000 (a user keeps it from being read, or its disk is gone); the walk ended at its bound, after 7 files` {
		t.Error(got)
	}
}

// A bound that is new has a case above, or a reason to have none.
func TestEachBoundHasItsCase(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := append(slices.Collect(maps.Keys(overlong)), otherBounds...)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			constants, ok := d.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, s := range constants.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(id.Name, "max") && !slices.Contains(known, id.Name) {
						t.Errorf("%s in %s has no case", id.Name, name)
					}
				}
			}
		}
	}
}
