// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"sentinel/internal/answer"
	"sentinel/internal/testenv"
)

// keyLines are the operations of a Mac that only read, by their tools.
var keyLines = map[string]string{
	"get_system_health": "", "get_top_processes": "--top", "get_network_stats": "--network-stats", "get_asset_info": "--asset-info --limit all",
	"security_audit": "--security-audit --limit all", "check_updates": "--check-updates --limit all", "list_blocked_ips": "--list-blocked",
}

// A cut is an output or a file of a Mac without one of its keys.
type cut struct {
	key string
	raw []byte
}

// tables are the programs whose lines are rows: a Mac without one of them is another Mac. What
// sentinel prints itself is whole.
var tables = []string{macOwn, "/bin/ps", "/usr/sbin/netstat", "/usr/sbin/lsof", "/bin/df", "/sbin/mount", "/usr/bin/kmutil", "/usr/bin/systemextensionsctl", "/sbin/ifconfig"}

// cuts takes away each key of what a program printed, or a file holds, in turn: of a property
// list, of JSON, and of lines such as "name: value", "name = value" and, of sshd -T, "name value".
func cuts(program string, raw []byte) []cut {
	switch {
	case slices.Contains(tables, program):
		return nil
	case bytes.Contains(raw, []byte("<plist")):
		return cutProperties(raw)
	case json.Valid(raw):
		return cutMembers(raw)
	case program == "/usr/sbin/sshd":
		return cutLines(raw, regexp.MustCompile(`^\w+ `))
	default:
		return cutLines(raw, regexp.MustCompile(`^\s*"?[A-Za-z][^:=]*?\s*[:=]`))
	}
}

func cutLines(raw []byte, key *regexp.Regexp) []cut {
	var list []cut
	lines := strings.SplitAfter(string(raw), "\n")
	for i, line := range lines {
		if name := key.FindString(line); name != "" {
			list = append(list, cut{strings.TrimSpace(name), []byte(strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""))})
		}
	}
	return list
}

func cutProperties(raw []byte) []cut {
	var list []cut
	d := xml.NewDecoder(bytes.NewReader(raw))
	for {
		before := d.InputOffset()
		token, err := d.Token()
		if err != nil {
			return list
		}
		if start, ok := token.(xml.StartElement); !ok || start.Name.Local != "key" {
			continue
		}
		var name string
		value, _ := d.Token()
		name = string(value.(xml.CharData))
		list = append(list, cut{name, slices.Concat(raw[:before], raw[endOfValue(raw, d.InputOffset()):])})
	}
}

// endOfValue is where the element ends that follows the end of a key.
func endOfValue(raw []byte, from int64) int64 {
	d := xml.NewDecoder(bytes.NewReader(raw[from+int64(len("</key>")):]))
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return int64(len(raw))
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			if depth--; depth == 0 {
				return from + int64(len("</key>")) + d.InputOffset()
			}
		}
	}
}

func cutMembers(raw []byte) []cut {
	var document any
	if json.Unmarshal(raw, &document) != nil {
		return nil
	}
	var list []cut
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case []any:
			for i, one := range v {
				walk(fmt.Sprint(path, ".", i), one)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				member := v[name]
				walk(path+"."+name, member)
				delete(v, name)
				without, _ := json.Marshal(document)
				list = append(list, cut{path + "." + name, without})
				v[name] = member
			}
		}
	}
	walk("", document)
	return list
}

// A trial is a Mac without one key.
type trial struct {
	name     string
	argv     string // whose output lacks it; empty for a file
	file     string // path below the root; empty for a program
	contents []byte
}

// trialsOf are all the Macs that lack one key of what their programs print and their preferences
// hold. Programs that print one thing after another are left alone.
func trialsOf(t *testing.T, dir string) []trial {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "exec", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	byLine := map[string][]trial{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(raw)
		argv, _, _ := strings.Cut(strings.TrimPrefix(string(a.Comment), "argv: "), "\n")
		program, _, _ := strings.Cut(argv, " ")
		list := []trial{}
		for i, f := range a.Files {
			for _, c := range cuts(program, f.Data) {
				one := txtar.Archive{Comment: a.Comment, Files: slices.Clone(a.Files)}
				one.Files[i].Data = c.raw
				list = append(list, trial{name: filepath.Base(file) + " " + c.key, argv: argv, contents: txtar.Format(&one)})
			}
		}
		if byLine[argv] != nil {
			list = nil
		}
		byLine[argv] = list
	}
	all := slices.Concat(slices.Collect(maps.Values(byLine))...)
	root := filepath.Join(dir, "root")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".plist" {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, c := range cutProperties(raw) {
			all = append(all, trial{name: filepath.Base(path) + " " + c.key, file: strings.TrimPrefix(path, root), contents: c.raw})
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// run answers with the Mac that lacks the key.
func (c trial) run(t *testing.T, m testMac, line string) macRun {
	t.Helper()
	m.work = testenv.MemDir(t)
	var err error
	if c.argv != "" {
		over := testenv.Plant(t, map[string]string{"exec/without.txtar": string(c.contents)})
		m.dirs = append(slices.Clone(m.dirs), over)
	} else {
		laid := filepath.Join(m.work, "mac", filepath.Base(m.dirs[0]))
		err = errors.Join(layOut(m.dirs[0], laid), os.WriteFile(filepath.Join(laid, c.file), c.contents, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return runOnItsClock(t, m, line)
}

// commandLines are those that a run asked for.
type commandLines struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (c *commandLines) note(argv string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[argv] = true
}

// A key that is missing leaves each figure of an answer as it is, or takes it away and says so.
// Nothing becomes a zero, an empty list, an "off" or another claim.
func TestMacsWithoutOneKeyClaimNothing(t *testing.T) {
	for _, mac := range []struct {
		names []string
		root  bool
	}{{[]string{"m4-26"}, true}, {[]string{"m4-26", "m4-26-user"}, false}, {[]string{"intel-12"}, true}} {
		var dirs []string
		var trials []trial
		for _, name := range mac.names {
			dirs = append(dirs, filepath.Join("..", "..", "testdata", "macs", name))
			trials = trialsOf(t, dirs[len(dirs)-1]) // of the last: the others have their own turn
		}
		for tool, line := range keyLines {
			t.Run(mac.names[len(mac.names)-1]+"/"+tool, func(t *testing.T) {
				t.Parallel()
				ran := &commandLines{seen: map[string]bool{}}
				whole := trial{file: "/whole"}.run(t, testMac{dirs: dirs, root: mac.root, ran: ran.note}, line)
				for _, one := range trials {
					if one.argv != "" && !ran.seen[one.argv] {
						continue
					}
					for _, claim := range claims(tool, whole.document, one.run(t, testMac{dirs: dirs, root: mac.root}, line)) {
						t.Errorf("without %s: %s", one.name, claim)
					}
				}
			})
		}
	}
}

// claims lists the figures that an answer has otherwise than the answer of the whole Mac, and those
// that it lacks without a word.
func claims(tool string, whole any, got macRun) []string {
	if got.status != 0 {
		return nil // a failure claims nothing
	}
	var found []string
	was, is := map[string]string{}, map[string]string{}
	leaves("", whole, was)
	leaves("", got.document, is)
	var missing []string
	listed(got.document, &missing)
	for path, value := range was {
		now, there := is[path]
		switch {
		case derived(tool, path):
		case !there && !covered(path, missing):
			found = append(found, path+" is gone, nothing says so")
		case there && strings.HasSuffix(path, ".#") && covered(strings.TrimSuffix(path, ".#"), missing):
		case there && now != value && !strings.EqualFold(now, `"unknown"`):
			found = append(found, fmt.Sprintf("%s is %s, was %s", path, now, value))
		}
	}
	for path, value := range is {
		if _, there := was[path]; !there && !derived(tool, path) {
			found = append(found, fmt.Sprintf("%s is %s, was not there", path, value))
		}
	}
	slices.Sort(found)
	return found
}

// leaves collects the values of a document by their paths. Members of a list go by what names them.
func leaves(path string, value any, to map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if !volatile[name] && name != "unavailable" && name != "skipped" {
				leaves(path+"."+name, member, to)
			}
		}
	case []any:
		to[path+".#"] = fmt.Sprint(len(v))
		for i, one := range v {
			leaves(path+"["+nameOf(one, i)+"]", one, to)
		}
	default:
		raw, _ := json.Marshal(v)
		to[path] = string(raw)
	}
}

func nameOf(value any, at int) string {
	object, _ := value.(map[string]any)
	for _, key := range []string{"id", "mountpoint", "pid", "name", "code"} {
		if name, ok := object[key]; ok {
			return fmt.Sprint(name)
		}
	}
	return fmt.Sprint(at)
}

// listed collects which fields a document says are missing.
func listed(value any, to *[]string) {
	object, _ := value.(map[string]any)
	for name, v := range object {
		list, _ := v.([]any)
		for _, one := range list {
			gap, _ := one.(map[string]any)
			switch name {
			case "unavailable":
				for _, field := range (answer.Gap{Field: fmt.Sprint(gap["field"])}).Fields() {
					*to = append(*to, "."+field)
				}
			case "skipped":
				*to = append(*to, ".checks."+fmt.Sprint(gap["id"]))
			}
		}
		listed(v, to)
	}
}

// covered says whether one of the missing fields is that at path, has it as a part, or speaks for it.
func covered(path string, missing []string) bool {
	path = strings.TrimPrefix(path, ".asset") // the inventory names its gaps from there
	plain := member.ReplaceAllString(path, "")
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	return slices.ContainsFunc(missing, func(field string) bool {
		whole := path == field || plain == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(plain, field+".")
		size, isSize := strings.CutSuffix(field, ".size_bytes")
		return whole || slices.Contains(spokenFor[field], plain) || isSize && path == size+".used_bytes"
	})
}

// member is what leaves adds to a path for a member of a list.
var member = regexp.MustCompile(`\[[^]]*\]`)

// spokenFor are figures that are another form of one that is listed as missing.
var spokenFor = map[string][]string{
	".cpu_load":                   {".cpu.load_1", ".cpu.load_5", ".cpu.load_15"},
	".cpu.percent":                {".cpu.cores"}, // one sample tells both
	".storage.volumes":            {".storage.volumes_total"},
	".thermal.pressure_level":     {".thermal.speed_limit_percent", ".thermal.scheduler_limit_percent"},
	".temperature":                {".thermal.celsius", ".thermal.sensor"},
	".hardware.memory_bytes":      {".hardware.memory_gb"},
	".hardware.memory_used_bytes": {".hardware.memory_used_gb"},
}

// derivedFigures may differ where a key is missing, for the reason beside them.
var derivedFigures = []struct{ tool, path, reason string }{
	{"security_audit", `^\.(checks\.#|checks_total|evaluated|applicable|coverage|score|overall_status)$`, "they count what was evaluated, and skipped says what was not"},
	{"security_audit", `\.evidence(\.#|\[)`, "another source tells the same verdict and is quoted"},
	{"get_system_health", `^\.threat_(level|reasons)`, "the level rests on what is known; firewall_status is UNKNOWN beside it"},
	{"get_system_health", `^\.firewall_evidence$`, "it says in words what could not be read"},
	{"security_audit", `^\.checks\[management\.enrollment\]\.value$`, "it says less: enrolled, without how"},
	{"security_audit", `^\.checks\[startup\.signed\]\.value$`, "it says at least how many have no signer"},
	{"get_asset_info", `^\.asset\.hardware\.(model|chip)$`, "sysctl and system_profiler name it, each in its words"},
	{"get_asset_info", `^\.asset\.storage\.volumes\[.*\.filesystem$`, "diskutil and system_profiler name it, each in its words"},
}

func derived(tool, path string) bool {
	for _, d := range derivedFigures {
		if ok, _ := regexp.MatchString(d.path, path); ok && d.tool == tool {
			return true
		}
	}
	return false
}
