// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"errors"
	"path"
	"slices"
	"strings"

	"sentinel/platform/linux/unitfile"
	"sentinel/platform/unix/shellscript"
)

// errImage says that what a unit runs is in no file of this system.
var errImage = errors.New("what it runs is in an image of a file system (RootImage=), which is not looked into")

// A root is where a unit sees other files than the system has (systemd.exec(5)).
type root struct {
	directory, image string
	binds            []bind
	layers           map[string][]string // images and directories that are laid over its own, by setting
}

// A bind is a file or directory that stands in the place of another.
type bind struct{ from, to string }

// read takes a setting, whose words have no specifiers any more.
func (r *root) read(name string, words []string) {
	switch name {
	case "RootDirectory":
		r.directory = strings.TrimPrefix(strings.Join(words, " "), "-")
	case "RootImage":
		r.image = strings.TrimPrefix(strings.Join(words, " "), "-")
	case "BindPaths", "BindReadOnlyPaths":
		r.bind(words)
	case "MountImages", "ExtensionImages", "ExtensionDirectories":
		r.layer(name, words)
	}
}

// layer takes words "FROM:…" of a setting; none clear its list.
func (r *root) layer(name string, words []string) {
	if r.layers == nil {
		r.layers = map[string][]string{}
	}
	if len(words) == 0 {
		r.layers[name] = nil
	}
	for _, word := range words {
		from, _, _ := strings.Cut(strings.TrimLeft(word, "-+"), ":")
		r.layers[name] = append(r.layers[name], from)
	}
}

// bind takes words "FROM:TO:OPTIONS"; none clear the list.
func (r *root) bind(words []string) {
	if len(words) == 0 {
		r.binds = nil
	}
	for _, word := range words {
		from, to, other := strings.Cut(strings.TrimLeft(word, "-+"), ":")
		to, _, _ = strings.Cut(to, ":")
		if other && path.Clean(from) != path.Clean(to) {
			r.binds = append(r.binds, bind{path.Clean(from), path.Clean(to)})
		}
	}
}

// placed are the files that a unit runs where it names these programs, and those that it sees in the place of the
// system's: any of its programs may run them.
func (r root) placed(programs []string) ([]string, error) {
	if r.image != "" {
		return []string{r.image}, errImage
	}
	var list []string
	for _, name := range programs {
		list = append(list, r.place(name))
	}
	for _, b := range r.binds {
		if slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(b.to+"/", dir) }) {
			list = append(list, b.from)
		}
	}
	for _, setting := range unitfile.RootSettings {
		list = append(list, r.layers[setting]...)
	}
	return shellscript.Once(list), nil
}

// place is the file that a program is. Of several binds the one nearest to it counts, and a name is not searched
// below another root.
func (r root) place(name string) string {
	var nearest bind
	for _, b := range r.binds {
		if strings.HasPrefix(path.Clean(name)+"/", strings.TrimSuffix(b.to, "/")+"/") && len(b.to) >= len(nearest.to) {
			nearest = b
		}
	}
	switch {
	case nearest.to != "":
		return path.Join(nearest.from, strings.TrimPrefix(path.Clean(name), nearest.to))
	case r.directory == "" || r.directory == "/":
		return name
	case !path.IsAbs(name):
		return "$PATH/" + strings.TrimPrefix(name, "$PATH/")
	default:
		return path.Join(r.directory, name)
	}
}
