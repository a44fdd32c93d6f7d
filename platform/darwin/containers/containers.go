// SPDX-License-Identifier: Apache-2.0

// Package containers finds the containers of a Mac, through the sockets that Docker Desktop, OrbStack,
// Colima, Rancher Desktop and Podman provide. They run in a virtual machine: what they take of it is
// not seen.
package containers

import (
	"context"
	"path/filepath"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/platform/unix/engine"
	"sentinel/platform/unix/hostfile"
)

// A Source finds the containers of one user of a Mac.
type Source struct {
	Root string // below which files are; "/" on a real Mac
	Home string // of the user, below Root; empty if unknown
	UID  int    // of the user
}

// Containers implements [containers.Source].
func (s Source) Containers(ctx context.Context, gaps *answer.Gaps) ([]containers.Engine, []containers.Facts, error) {
	var engines []containers.Engine
	var list []containers.Facts
	for _, socket := range s.sockets() {
		e, found, err := engine.Containers(ctx, socket, gaps)
		gaps.Add("engines."+socket.Path, err)
		engines, list = append(engines, e...), append(list, found...)
	}
	for i := range list {
		list[i].PID = 0 // of the virtual machine, and another process here
	}
	return engines, list, ctx.Err()
}

// sockets lists where the engines of a Mac listen, by paths without links. The one of the system is a link
// to one of the user's where that is so configured, and then counts once.
func (s Source) sockets() []engine.Socket {
	var list []engine.Socket
	seen := map[string]bool{}
	paths := []string{filepath.Join(s.Root, "var", "run", "docker.sock")}
	if s.Home != "" {
		for _, name := range []string{".docker/run/docker.sock", ".orbstack/run/docker.sock", ".colima/default/docker.sock", ".rd/docker.sock", ".local/share/containers/podman/machine/podman.sock"} {
			paths = append(paths, filepath.Join(s.Root, s.Home, name))
		}
	}
	for i, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil && !seen[real] {
			seen[real] = true
			list = append(list, engine.Socket{Path: real, Owner: s.owner(real, i == 0)})
		}
	}
	return list
}

// owner is whose engine it must be: the user's, and root's for a socket of root's in the folder of the system.
func (s Source) owner(real string, ofSystem bool) int {
	if f, err := hostfile.Lstat(real); !ofSystem || err != nil || f.UID != 0 {
		return s.UID
	}
	if folder, err := filepath.EvalSymlinks(filepath.Join(s.Root, "var", "run")); err != nil || filepath.Dir(real) != folder {
		return s.UID
	}
	return 0
}
