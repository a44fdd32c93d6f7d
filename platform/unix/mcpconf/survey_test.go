// SPDX-License-Identifier: Apache-2.0

package mcpconf

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/clients"
)

func pass[U any]([]Configured[U]) audit.Finding { return audit.Passed("") }

func TestSurveyNamesTheFileAndTheUserOfEachServer(t *testing.T) {
	var s Survey[string]
	s.Take("/home/mira/.mcp.json", []byte(`{"mcpServers": {"a": {"command": "/opt/a"}}}`), "mira")
	s.Take("/home/ana/.mcp.json", []byte(`no JSON`), "ana")
	s.Miss("/home/zoe/.mcp.json", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission})
	servers, _ := audittest.Seen(s.List())
	if len(servers) != 1 || servers[0].Command != "/opt/a" || servers[0].File != "/home/mira/.mcp.json" || servers[0].User != "mira" {
		t.Errorf("%+v", servers)
	}
	if f := s.List().Judge(pass[string]); f.Status != "" || f.Reason != "/home/ana/.mcp.json: "+clients.ErrFormat.Error() {
		t.Errorf("%+v", f)
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
	if servers, whole := audittest.Seen(s.List()); len(servers) != maxConfigured || whole {
		t.Errorf("%d servers, whole: %v", len(servers), whole)
	}
}
