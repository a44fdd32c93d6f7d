// SPDX-License-Identifier: Apache-2.0

// Command mcpb makes the bundles that Claude Desktop installs with one click
// (MCP Bundles, manifest version 0.3): one for macOS, which runs on both of its
// processors, and one for Linux on each.
//
// A bundle contains sentinel-mcp and an unprivileged sentinel. Its user can write to it, so nothing
// in it ever runs as root; if root has installed a sentinel, sentinel-mcp runs that one.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sentinel/internal/version"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) } //nolint:forbidigo // the one place that ends it

// run makes the bundles from the programs below the first argument, in one
// directory for each system such as linux-amd64, and writes them to the second.
func run(args []string, stderr io.Writer) int {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "usage: mcpb PROGRAMS BUNDLES") //nolint:errcheck // nowhere to report to
		return 2
	}
	for _, b := range bundles() {
		if err := b.make(args[0], args[1]); err != nil {
			fmt.Fprintf(stderr, "mcpb: %v\n", err) //nolint:errcheck // nowhere to report to
			return 1
		}
	}
	return 0
}

// iconName is the picture of the bundle: the icon of the server, 512 pixels
// wide as Claude Desktop asks for.
const iconName = "icon.png"

// A bundle holds the two programs for one system or more.
type bundle struct {
	name     string   // in the name of its file
	platform string   // as process.platform of Node has it
	from     []string // directories of the programs
}

func bundles() []bundle {
	return []bundle{
		{"macos", "darwin", []string{"darwin-amd64", "darwin-arm64"}},
		{"linux-amd64", "linux", []string{"linux-amd64"}},
		{"linux-arm64", "linux", []string{"linux-arm64"}},
	}
}

func (b bundle) make(programs, into string) error {
	manifest, err := encode(newManifest(b.platform))
	if err != nil {
		return err
	}
	files := []entry{{"manifest.json", 0o644, manifest}}
	for _, name := range []string{"sentinel", "sentinel-mcp"} {
		program, err := b.program(programs, name)
		if err != nil {
			return err
		}
		files = append(files, entry{"server/" + name, 0o755, program})
	}
	for _, file := range []string{"LICENSE", "packaging/mcpb/" + iconName} {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files = append(files, entry{filepath.Base(file), 0o644, raw})
	}
	archive, err := zipped(files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, "sentinel-"+version.Number+"-"+b.name+".mcpb"), archive, 0o644) //nolint:gosec // for distribution
}

// program returns one program, joined into one file for several systems.
func (b bundle) program(programs, name string) ([]byte, error) {
	var all [][]byte
	for _, directory := range b.from {
		raw, err := os.ReadFile(filepath.Join(programs, directory, name)) //nolint:gosec // named by whoever builds
		if err != nil {
			return nil, err
		}
		all = append(all, raw)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	joined, err := universal(all)
	if err != nil {
		return nil, fmt.Errorf("join %s: %w", name, err)
	}
	return joined, nil
}
