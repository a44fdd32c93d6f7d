// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
)

// MachineFile is what the administrator of the machine forbids.
const MachineFile = "/etc/sentinel/guard.yaml"

// Variable names a further file of rules, as it did for the first gateway. It comes from the
// configuration of a client, so it can tighten and not loosen.
const Variable = "MCP_POLICY_FILE"

// UserFile returns the path of the user's own file, "" where there is no home.
func UserFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	name := "sentinel"
	if filepath.Base(dir) == "Application Support" { // macOS
		name = "Sentinel"
	}
	return filepath.Join(dir, name, "guard.yaml")
}

// Sources returns the files whose rules hold for this process, that of the machine first.
func Sources() []Source {
	sources := []Source{{Path: MachineFile}}
	if own := UserFile(); own != "" {
		sources = append(sources, Source{Path: own})
	}
	if named := os.Getenv(Variable); named != "" {
		sources = append(sources, Source{Path: named, Required: true})
	}
	return sources
}

// Here returns the environment of a server that is started where this process is. The root of all
// files, in which some clients start servers, is no project: everything would be inside.
func Here() Environment {
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	project := dir
	if project == "/" {
		project = ""
	}
	return Environment{Home: home, Project: project, Dir: dir}
}
