// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oldestKernel is the first that has everything sentinel uses of Linux:
// pidfd_open(2) came last.
var oldestKernel = [2]int{5, 3}

// install is how both programs get to where only root can write: from where
// they run or, when they are there already, anew from where they were built.
func (p Target) install() string {
	from := "bin"
	if own, err := p.Binary(); err == nil && filepath.Dir(own) != filepath.Dir(named) && pasteable(own) {
		from = filepath.Dir(own)
	}
	if p.mac() {
		return p.macInstall(from)
	}
	return "Install both programs where only root can write: sudo install -o root -g root -m 755 " +
		from + "/sentinel " + from + "/sentinel-mcp " + filepath.Dir(named)
}

func system(ctx context.Context, p Target) []Finding {
	switch p.OS {
	case "darwin":
		return p.macSystem(ctx)
	case "linux":
	default:
		return one(Problem, "sentinel "+p.Version+" on "+p.OS, "Use a system that sentinel supports: Linux or macOS.")
	}
	seen := "sentinel " + p.Version + " on " + p.distribution()
	raw, err := os.ReadFile(p.at("/proc/sys/kernel/osrelease"))
	release := strings.TrimSpace(string(raw))
	version, known := kernelVersion(release)
	switch {
	case err != nil || !known:
		return one(Unknown, seen+"; the kernel does not say its version", "Check that /proc is mounted.")
	case version[0] < oldestKernel[0] || version[0] == oldestKernel[0] && version[1] < oldestKernel[1]:
		return one(Warning, seen+", Linux "+release, fmt.Sprintf("Run Linux %d.%d or newer; on older ones no process can be ended safely.", oldestKernel[0], oldestKernel[1]))
	default:
		return one(OK, seen+", Linux "+release, "")
	}
}

// distribution names the distribution as os-release(5) has it.
func (p Target) distribution() string {
	f, err := os.Open(p.at("/etc/os-release"))
	if err != nil {
		return "Linux of an unknown distribution"
	}
	defer f.Close() //nolint:errcheck // only read from
	lines := bufio.NewScanner(f)
	for n := 0; n < 100 && lines.Scan(); n++ {
		if name, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return "Linux of an unknown distribution"
}

// kernelVersion takes the two numbers that begin a kernel's release.
func kernelVersion(release string) (version [2]int, ok bool) {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return version, false
	}
	minor, _, _ := strings.Cut(parts[1], "-")
	for i, text := range []string{parts[0], minor} {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return version, false
		}
		version[i] = int(n)
	}
	return version, true
}

func binary(_ context.Context, p Target) []Finding {
	path, err := p.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	return p.installed(path)
}

// installed judges a program that sentinel-mcp may have run as root.
func (p Target) installed(path string) []Finding {
	if err := p.Trusted(p.at(path)); err != nil {
		return one(Problem, "Someone else could change "+path+", so root is not used: "+err.Error(), p.install())
	}
	return one(OK, path+" belongs to root, and nobody else can write it", "")
}

// server looks for sentinel-mcp beside sentinel, from where it finds sentinel by
// itself.
func server(_ context.Context, p Target) []Finding {
	path, err := p.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	path = filepath.Join(filepath.Dir(path), "sentinel-mcp")
	info, err := os.Stat(p.at(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+path+".", p.install())
	case err != nil:
		return one(Unknown, err.Error(), "")
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return one(Problem, path+" is no program", p.install())
	default:
		return p.installed(path)
	}
}
