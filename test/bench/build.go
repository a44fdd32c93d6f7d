// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are the binaries in a directory.
type programs struct {
	dir string
}

func (p programs) sentinel() string { return filepath.Join(p.dir, "sentinel") }
func (p programs) server() string   { return filepath.Join(p.dir, "sentinel-mcp") }
func (p programs) guard() string    { return filepath.Join(p.dir, "sentinel-guard") }
func (p programs) hello() string    { return filepath.Join(p.dir, "hello") }

// hasServer says whether sentinel-mcp was built.
func (p programs) hasServer() bool {
	_, err := os.Stat(p.server())
	return err == nil
}

const helloSource = `package main

import "fmt"

func main() { fmt.Println("hello, world") }
`

// build builds everything as it is released. A sentinel-mcp that does not
// build leaves its rows out.
func build(ctx context.Context, dir string) error {
	p := programs{dir}
	source := p.hello() + ".go"
	if err := os.WriteFile(source, []byte(helloSource), 0o600); err != nil {
		return err
	}
	if err := compile(ctx, p.hello(), source); err != nil {
		return err
	}
	if err := compile(ctx, p.server(), "sentinel/cmd/sentinel-mcp"); err != nil {
		fmt.Fprintln(os.Stderr, err) // the table says it too
	}
	if err := compile(ctx, p.guard(), "sentinel/cmd/sentinel-guard"); err != nil {
		return err
	}
	return compile(ctx, p.sentinel(), "sentinel/cmd/sentinel")
}

func compile(ctx context.Context, to, what string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", to, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", what, err, out)
	}
	return nil
}
