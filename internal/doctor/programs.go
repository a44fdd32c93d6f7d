// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oldestKernel is the first with everything that sentinel uses: pidfd_open(2)
// came last.
var oldestKernel = [2]int{5, 3}

func system(ctx context.Context, t Target) []Finding {
	switch t.OS {
	case "darwin":
		return t.macSystem(ctx)
	case "linux":
	default:
		return one(Problem, "sentinel "+t.Version+" on "+t.OS, "Use a system that sentinel supports: Linux or macOS.")
	}
	seen := "sentinel " + t.Version + " on " + t.distribution(ctx)
	raw, err := os.ReadFile(t.at("/proc/sys/kernel/osrelease"))
	release := strings.TrimSpace(string(raw))
	version, known := kernelVersion(release)
	switch {
	case err != nil || !known:
		return one(Unknown, seen+"; the version of the kernel is not known", "Check that /proc is mounted.")
	case version[0] < oldestKernel[0] || version[0] == oldestKernel[0] && version[1] < oldestKernel[1]:
		return one(Warning, seen+", Linux "+release, fmt.Sprintf("Run Linux %d.%d or newer; on older ones no process can be ended safely.", oldestKernel[0], oldestKernel[1]))
	default:
		return one(OK, seen+", Linux "+release, "")
	}
}

// distribution returns the name of the distribution.
func (t Target) distribution(ctx context.Context) string {
	name, err := t.OSVersion(ctx)
	if err != nil || name == "" {
		return "Linux of an unknown distribution"
	}
	return name
}

// kernelVersion returns the first two numbers of a kernel's release.
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

func binary(ctx context.Context, t Target) []Finding {
	path, err := t.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	return t.checkProgram(ctx, path)
}

// checkProgram checks a program that sentinel-mcp may run as root, or that is the user's own.
func (t Target) checkProgram(ctx context.Context, path string) []Finding {
	if t.personal(path) {
		return one(OK, path+" is "+t.withName(ctx).User.Name+"'s own, nobody else can write it, and it runs without root", "")
	}
	if err := t.Trusted(t.at(path)); err != nil {
		return one(Problem, "Someone else could change "+path+", so root is not used: "+err.Error(), t.installFix())
	}
	return one(OK, path+" belongs to root, and nobody else can write it", "")
}

// server looks for sentinel-mcp beside sentinel, where it finds sentinel by
// itself.
func server(ctx context.Context, t Target) []Finding {
	path, err := t.Binary()
	if err != nil {
		return one(Unknown, "sentinel cannot tell where it is installed: "+err.Error(), "")
	}
	path = filepath.Join(filepath.Dir(path), "sentinel-mcp")
	info, err := os.Stat(t.at(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one(Warning, "There is no "+path+".", t.installFix())
	case err != nil:
		return one(Unknown, err.Error(), "")
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return one(Problem, path+" is not a program", t.installFix())
	default:
		return t.checkProgram(ctx, path)
	}
}
