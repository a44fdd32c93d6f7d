// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sentinel/internal/clients"
)

func clientPrograms(ctx context.Context, t Target) []Finding {
	who, err := t.account(ctx)
	if err != nil {
		return one(Unknown, "The home folder of the user is not known: "+err.Error(), "")
	}
	var all []Finding
	for _, c := range clients.All() {
		raw, err := readOwn(t.at(c.File(clients.User{OS: t.OS, Home: who.home, Env: t.User.env})))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		f := t.checkClient(c, raw, err)
		f.ID, f.Name = "client."+strings.ReplaceAll(c.ID, "-", "_"), c.Name
		all = append(all, f)
	}
	if len(all) == 0 {
		return one(Unknown, "No configuration of a client that is known here is in "+who.home+t.caveat(), "Run as the user of the client: sentinel-mcp --install claude-desktop (or another client; see sentinel-mcp --help)")
	}
	return all
}

// caveat ends a sentence about where the user's clients are.
func (t Target) caveat() string {
	if t.User.Env == nil {
		return "; where else the user's environment may have them is not known here."
	}
	return "."
}

// readOwn reads a file of an ordinary user, also as root: it does not follow a
// link at the end of the path or wait for a pipe, and shows the content to nobody.
func readOwn(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a regular file"))
	}
	raw, err := io.ReadAll(io.LimitReader(f, clients.MaxFile+1))
	if len(raw) > clients.MaxFile {
		return nil, fmt.Errorf("it is larger than %d MiB", clients.MaxFile>>20)
	}
	return raw, err
}

func (t Target) checkClient(c clients.Client, raw []byte, err error) Finding {
	if err != nil {
		return Finding{Status: Unknown, Value: "Its configuration cannot be read: " + err.Error()}
	}
	servers, err := c.Parse(raw)
	if err != nil {
		return Finding{Status: Unknown, Value: "Its configuration is not JSON that " + c.Name + " can read."}
	}
	ours := slices.IndexFunc(servers, func(s clients.Server) bool { return clients.IsOurs(s.Program()) })
	if ours < 0 {
		return Finding{Status: OK, Value: "It is there and does not use sentinel-mcp."}
	}
	command := servers[ours].Program()
	const fix = "Name the program by its whole path, such as /usr/local/bin/sentinel-mcp, then restart the client."
	if !filepath.IsAbs(command) {
		return Finding{Status: Problem, Value: "It starts " + command + " without a path; which program that is, the PATH of the client decides.", Fix: fix}
	}
	info, err := os.Stat(t.at(command))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Finding{Status: Unknown, Value: "It starts " + command + ", which cannot be looked at."}
	case err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return Finding{Status: Problem, Value: "It starts " + command + ", and there is no such program.", Fix: fix}
	}
	if err := t.Trusted(t.at(command)); err != nil && !t.personal(command) {
		return Finding{Status: Warning, Value: "It starts " + command + ", which someone else could change: " + err.Error(), Fix: t.installFix()}
	}
	return Finding{Status: OK, Value: "It starts " + command + "."}
}
