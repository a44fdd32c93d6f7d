// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sentinel/internal/testenv"
)

// Why is the shop away? Its container keeps dying: how often and how is told.
func TestAnAssistantFindsTheContainerThatRestarts(t *testing.T) {
	t.Parallel()
	busybox := testenv.Program(t, "busybox", "busybox-static")
	podman := testenv.Program(t, "podman", "podman")
	if !onMachine(t) {
		return
	}
	do(t, "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
	const dir = "/run/engine" // podman refuses long paths
	words := func(args ...string) []string {
		return append([]string{"env", "HOME=" + dir, podman, "--root", dir + "/graph", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none"}, args...)
	}
	for _, name := range []string{"bin", "run"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	do(t, "cp", busybox, dir+"/bin/sh")
	do(t, "tar", "--create", "--file", dir+"/image", "--directory", dir, "bin/sh")
	do(t, words("import", "--quiet", dir+"/image", "shop/page")...)
	if err := os.Mkdir("/run/podman", 0o700); err != nil {
		t.Fatal(err)
	}
	service := exec.Command("env", words("system", "service", "--time", "0", "unix:///run/podman/podman.sock")[1:]...)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Process.Signal(syscall.SIGTERM)
		service.Wait()
	})
	do(t, words("run", "--detach", "--name", "page", "--network", "none", "--restart", "on-failure:2", "shop/page", "/bin/sh", "-c", "exit 3")...)
	s := connect(t, "--toolsets", "all")
	const cause = "It was given up after 2 restarts: exit status 3."
	testenv.WaitFor(t, "the container to be given up", func() bool {
		rows := s.Call("", "get_containers", map[string]any{}).Rows("containers")
		return len(rows) == 1 && rows[0].Text("name") == "page" && rows[0].Text("problem") == cause
	})
}
