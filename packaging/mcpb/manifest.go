// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sentinel/internal/ops"
	"sentinel/internal/version"
)

// A manifest describes the content of a bundle and how to start it. The names are those of the
// specification of MCP Bundles.
type manifest struct {
	ManifestVersion string            `json:"manifest_version"`
	Name            string            `json:"name"`
	DisplayName     string            `json:"display_name"`
	Version         string            `json:"version"`
	Description     string            `json:"description"`
	LongDescription string            `json:"long_description"`
	Author          author            `json:"author"`
	Icon            string            `json:"icon"` // a file of the bundle
	Server          server            `json:"server"`
	Tools           []tool            `json:"tools"`
	ToolsGenerated  bool              `json:"tools_generated"` // more than those listed
	Prompts         []prompt          `json:"prompts"`
	Keywords        []string          `json:"keywords"`
	License         string            `json:"license"`
	Compatibility   compatibility     `json:"compatibility"`
	UserConfig      map[string]option `json:"user_config"`
}

type author struct {
	Name string `json:"name"`
}

type server struct {
	Type       string `json:"type"`
	EntryPoint string `json:"entry_point"`
	Config     config `json:"mcp_config"`
}

type config struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// A prompt stands in the menu of the client before the server runs.
type prompt struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Text        string `json:"text"`
}

type compatibility struct {
	Platforms []string `json:"platforms"`
}

// An option is a setting that the client asks the user for.
type option struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Default     any    `json:"default"`
}

func newManifest(platform string) manifest {
	return manifest{
		ManifestVersion: "0.3",
		Name:            "sentinel",
		DisplayName:     "Sentinel",
		Version:         version.Number,
		Description:     "Monitors and repairs the computer it runs on: health, processes, network, firewall, updates, security.",
		LongDescription: "Ask how this computer is doing, and have problems fixed. Everything runs on this computer.\n\n" +
			"Reading works at once. What changes the system needs root: also install Sentinel from its package, " +
			"and this extension uses what is installed, within the rules of sudo that come with it. " +
			"What is in this extension never runs as root.",
		Author: author{"The Sentinel authors"},
		Icon:   iconName,
		Server: server{
			Type:       "binary",
			EntryPoint: "server/sentinel-mcp",
			Config: config{
				Command: "${__dirname}/server/sentinel-mcp",
				Args:    []string{"--read-only=${user_config.read_only}", "--toolsets=${user_config.toolsets}"},
				Env:     map[string]string{},
			},
		},
		Tools:          tools(),
		ToolsGenerated: true,
		Prompts:        prompts(),
		Keywords:       []string{"system", "health", "security", "firewall", "monitoring"},
		License:        "Apache-2.0",
		Compatibility:  compatibility{[]string{platform}},
		UserConfig: map[string]option{
			"read_only": {"boolean", "Only look", "Offer only tools that change nothing and send nothing out.", false, false},
			"toolsets":  {"string", "Toolsets", "Which tools to offer, separated by commas: " + strings.Join(append(ops.Toolsets(), "all"), ", ") + ".", false, ops.InstalledToolsets},
		},
	}
}

// tools lists those that are on unless the user says otherwise, each with one sentence.
func tools() []tool {
	var all []tool
	on := strings.Split(ops.InstalledToolsets, ",")
	for _, op := range ops.All() {
		if slices.Contains(on, op.Toolset) && !op.OfFleet() {
			sentence, _, _ := strings.Cut(op.Description, ". ")
			all = append(all, tool{op.Name, strings.TrimSuffix(sentence, ".") + "."})
		}
	}
	return all
}

// prompts lists the prompts as those tools answer them.
func prompts() []prompt {
	var offered []string
	for _, t := range tools() {
		offered = append(offered, t.Name)
	}
	var all []prompt
	for _, p := range ops.Prompts() {
		all = append(all, prompt{p.Name, p.Title, p.Text(offered)})
	}
	return all
}

func encode(m manifest) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}
