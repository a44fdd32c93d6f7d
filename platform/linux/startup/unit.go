// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sentinel/internal/userdb"
	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/shellscript"
)

// A unit is what matters of a unit file of systemd with its drop-ins (systemd.unit(5),
// systemd.exec(5)).
type unit struct {
	commands    map[string][]string // by setting
	environment []string
	// environmentFiles have variables, a line each; a dash before a name says that there may be none.
	environmentFiles []string
	triggers         []string // "OnCalendar=daily", "ListenStream=/run/x"
	activates        string   // the unit that a timer, socket or path starts
	accepts          bool     // the socket starts an instance for each connection
	source           string   // the file that a generator made it from
	user             string
	root             root
	mounts, fsType   string            // what a mount unit mounts, and as which type of file system
	wants            []string          // units that it has started with it
	foreign          bool              // it has settings that [generated] does not list
	size             int               // of its files
	fragment         string            // its main file; "" if that is not known
	named            *strings.Replacer // specifiers that its name and that file give
	specifiers       *strings.Replacer // of its manager; nil is the common ones
}

// A specifier stands for something in a path (systemd.unit(5)). commonSpecifiers mean the same to every manager, and
// systemSpecifiers are those of the system's.
var (
	commonSpecifiers = sync.OnceValue(func() *strings.Replacer { return specifiers() })
	systemSpecifiers = sync.OnceValue(func() *strings.Replacer {
		return specifiers("%t", "/run", "%h", "/root", "%E", "/etc", "%C", "/var/cache", "%S", "/var/lib", "%L", "/var/log", "%u", "root", "%U", "0")
	})
)

// specifiersOf are those of the manager of a user.
func specifiersOf(u userdb.User) *strings.Replacer {
	return specifiers("%t", path.Join(runtimePlace, strconv.Itoa(u.UID)), "%h", u.Home, "%u", u.Name, "%U", strconv.Itoa(u.UID),
		"%E", path.Join(u.Home, ".config"), "%C", path.Join(u.Home, ".cache"), "%S", path.Join(u.Home, ".local/state"), "%L", path.Join(u.Home, ".local/state/log"))
}

func specifiers(more ...string) *strings.Replacer {
	return strings.NewReplacer(append([]string{"%%", "%", "%T", "/tmp", "%V", "/var/tmp"}, more...)...)
}

// nameSpecifiers are those that stand for parts of the name of a unit, and for its file. Those of a kind of units, and the instance of a
// template, are not known.
func nameSpecifiers(name, fragment string) *strings.Replacer {
	if path.Ext(name) == "" {
		return strings.NewReplacer()
	}
	whole := strings.TrimSuffix(name, path.Ext(name))
	prefix, instance, template := strings.Cut(whole, "@")
	final := prefix[strings.LastIndexByte(prefix, '-')+1:]
	list := []string{"%%", "%%", "%n", name, "%N", whole, "%p", prefix, "%P", decodedName(prefix), "%j", final, "%J", decodedName(final)}
	if !template || instance != "" {
		list = append(list, "%i", instance, "%I", decodedName(instance), "%f", path.Join("/", decodedName(cmp.Or(instance, prefix))))
	}
	if fragment != "" {
		list = append(list, "%y", fragment, "%Y", path.Dir(fragment))
	}
	return strings.NewReplacer(list...)
}

// decodedName is a part of the name of a unit as the path that it stands for (systemd-escape(1)).
func decodedName(part string) string {
	return strings.Join(unitfile.Words(strings.ReplaceAll(part, "-", "/")), "")
}

// expand replaces the specifiers of words of the unit.
func (u unit) expand(words []string) []string {
	for i := range words {
		words[i] = u.named.Replace(words[i])
	}
	return expand(words, u.specifiers)
}

// expand replaces the specifiers of words; nil is the common ones.
func expand(words []string, specifiers *strings.Replacer) []string {
	specifiers = cmp.Or(specifiers, commonSpecifiers())
	for i := range words {
		words[i] = specifiers.Replace(words[i])
	}
	return words
}

// commandSettings run programs, the main one first.
var commandSettings = []string{"ExecStart", "ExecStartPre", "ExecStartPost", "ExecCondition", "ExecReload", "ExecStop", "ExecStopPost", "ExecStopPre"}

// triggerSettings say when a timer, socket or path starts its unit.
var triggerSettings = []string{
	"OnCalendar", "OnBootSec", "OnStartupSec", "OnActiveSec", "OnUnitActiveSec", "OnUnitInactiveSec",
	"ListenStream", "ListenDatagram", "ListenSequentialPacket", "ListenFIFO", "ListenNetlink", "ListenSpecial",
	"PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty",
}

// wantSettings name units that are started with the unit.
var wantSettings = []string{"Wants", "Requires", "RequiresOverridable", "BindsTo", "BindTo", "Upholds", "OnFailure", "OnSuccess"}

const maxTriggers = 50 // that are shown of a unit

// ownSection is the section of the settings of a kind of unit, by the name of one, or of its kind alone.
func ownSection(name string) string {
	kind := name[strings.LastIndexByte(name, '.')+1:]
	return strings.ToUpper(kind[:min(1, len(kind))]) + kind[min(1, len(kind)):]
}

// read takes the settings of a file of a unit over those that were read before. An empty value clears
// a list. What stands in sections of other kinds, or in those for others to read ("X-"), counts for
// nothing.
func (u *unit) read(unitName, text string) {
	if u.commands == nil {
		u.commands = map[string][]string{}
	}
	u.size += len(text)
	u.named = nameSpecifiers(unitName, u.fragment)
	own := ownSection(unitName)
	unitfile.Settings(text, func(section, name, value string) {
		u.foreign = u.foreign || !isGenerated(name, value)
		switch {
		case section == "Unit" && name == "SourcePath":
			u.source = value
		case section == "Unit" && slices.Contains(wantSettings, name):
			u.wants = append(u.wants, u.expand(strings.Fields(value))...)
		case section != own:
		case name == "Sockets": // systemd.service(5)
			u.wants = append(u.wants, u.expand(strings.Fields(value))...)
		case slices.Contains(commandSettings, name):
			u.commands[name] = with(u.commands[name], value)
		case name == "Environment":
			u.environment = append(u.environment, value)
		case name == "ExecSearchPath":
			u.environment = append(u.environment, "PATH="+value)
		case name == "EnvironmentFile":
			u.environmentFiles = with(u.environmentFiles, value)
		case slices.Contains(triggerSettings, name) && value == "":
			u.triggers = slices.DeleteFunc(u.triggers, func(t string) bool { return strings.HasPrefix(t, name+"=") })
		case slices.Contains(triggerSettings, name) && len(u.triggers) < maxTriggers:
			u.triggers = append(u.triggers, name+"="+value)
		case name == "Unit" && own != "Socket" && u.activates == "", name == "Service" && own == "Socket": // the first, and the last
			u.activates = u.expand([]string{value})[0]
		case name == "Accept":
			u.accepts = slices.Contains([]string{"1", "yes", "y", "true", "t", "on"}, strings.ToLower(value))
		case slices.Contains(unitfile.RootSettings, name):
			u.root.read(name, u.expand(unitfile.Words(value)))
		case name == "What":
			u.mounts = u.expand([]string{value})[0]
		case name == "Type" && own == "Mount":
			u.fsType = u.expand([]string{value})[0]
		case name == "User":
			u.user = u.expand([]string{value})[0]
		}
	})
}

// with is a list with one more value; an empty one clears it (systemd.service(5), systemd.exec(5)).
func with(list []string, value string) []string {
	if value == "" {
		return nil
	}
	return append(list, value)
}

// programs are those that the unit runs, and libraries that it makes them load, as far as its files let
// them be found.
func (u unit) programs(sh *shellscript.Reader) ([]string, error) {
	var list, loaded []string
	for _, line := range u.environment {
		loaded = append(loaded, sh.Environment(u.expand(unitfile.Words(line)))...)
	}
	for _, setting := range commandSettings {
		for _, line := range u.commands[setting] {
			for _, words := range execCommands(line) {
				list = append(list, sh.Command(u.expand(words))...)
			}
		}
	}
	list, err := u.root.placed(append(list, loaded...))
	return list, cmp.Or(err, sh.Err())
}

// loadedBy returns what the variables of a file make programs load or run.
func loadedBy(text string, sh *shellscript.Reader) []string {
	var list []string
	unitfile.Variables(text, func(name, value string) { list = append(list, sh.Environment([]string{name + "=" + value})...) })
	return list
}

// execCommands are the words of the commands of a line of systemd.service(5), without the characters that may stand
// before each.
func execCommands(line string) [][]string {
	list := unitfile.Commands(line)
	for i, words := range list {
		program := strings.TrimLeft(words[0], "-:+!|@")
		renamed := strings.Contains(words[0][:len(words[0])-len(program)], "@")
		if words[0] = program; renamed && len(words) > 1 { // the second word is the name that it gets
			list[i] = slices.Delete(words, 1, 2)
		}
	}
	return list
}
