// SPDX-License-Identifier: Apache-2.0

package mcpconf

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/clients"
	"sentinel/platform/unix/hostfile"
)

func TestSurveyNamesTheFileAndTheUserOfEachServer(t *testing.T) {
	var s Survey[string]
	s.Take("/home/mira/.mcp.json", []byte(`{"mcpServers": {"a": {"command": "/opt/a"}}}`), "mira")
	s.Take("/home/ana/.mcp.json", []byte(`no JSON`), "ana")
	s.Miss("/home/zoe/.mcp.json", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission})
	if len(s.Servers) != 1 || s.Servers[0].Command != "/opt/a" || s.Servers[0].File != "/home/mira/.mcp.json" || s.Servers[0].User != "mira" {
		t.Errorf("%+v", s.Servers)
	}
	first, ok := errors.AsType[*fs.PathError](s.Unread)
	if !ok || first.Path != "/home/ana/.mcp.json" || !errors.Is(s.Unread, clients.ErrFormat) {
		t.Errorf("%v", s.Unread)
	}
}

func TestSurveyIsBounded(t *testing.T) {
	var s Survey[int]
	for user := range 4 {
		var servers []string
		for i := range 150 {
			servers = append(servers, fmt.Sprintf(`"s%d": {"command": "x"}`, i))
		}
		s.Take(fmt.Sprintf("/home/%d", user), []byte(`{"mcpServers": {`+strings.Join(servers, ",")+`}}`), user)
	}
	if len(s.Servers) != maxConfigured || !errors.Is(s.Unread, hostfile.ErrTooLarge) {
		t.Errorf("%d servers, %v", len(s.Servers), s.Unread)
	}
}
