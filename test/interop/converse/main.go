// SPDX-License-Identifier: Apache-2.0

// Command converse has one conversation for each revision with a server, as a client of the official
// Go SDK, and prints what came of each step as a line. Arguments: the revisions with commas between,
// the plan below, a folder that is the client's root, and the command of the server, in which
// REVISION stands for the revision.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withoutHandshake is the revision in which a server asks in its results.
const withoutHandshake = "2026-07-28"

type arguments = map[string]any

var none = arguments{} // nil would be null

// A call is one of a tool.
type call struct {
	name  string
	given arguments
}

// A plan names what a server has.
type plan struct {
	calls     []call
	slow      *call // tells its progress, and is cancelled once
	prompts   []mcp.GetPromptParams
	resources []string
	tookRoots string // what the server says on stderr or as a log message when it has asked for the roots
	keeps     bool   // the server remembers, and so the revisions come one after the other
}

func planOf(name, root string) plan {
	greets := func(names ...string) (all []call) {
		for _, name := range names {
			all = append(all, call{name, arguments{"name": "ü\u2028\n"}})
		}
		return all
	}
	in := func(name string) string { return filepath.Join(root, name) }
	return map[string]plan{
		"everything": {
			calls: []call{
				{"echo", arguments{"message": "ü\u2028\n\U0001f600"}}, {"get-sum", arguments{"a": 1.5, "b": -2e3}}, {"get-sum", arguments{"a": "one"}},
				{"get-structured-content", arguments{"location": "Chicago"}}, {"get-resource-links", arguments{"count": 3}}, {"get-roots-list", none},
				{"trigger-sampling-request", arguments{"prompt": "x"}}, {"trigger-elicitation-request", none},
			},
			slow:      &call{"trigger-long-running-operation", arguments{"duration": 0.9, "steps": 3}},
			prompts:   []mcp.GetPromptParams{{Name: "simple-prompt"}, {Name: "args-prompt", Arguments: map[string]string{"city": "Ulm"}}, {Name: "args-prompt"}},
			resources: []string{"demo://resource/dynamic/text/1", "demo://nothing"},
			tookRoots: "Roots updated",
		},
		"filesystem": {
			keeps: true, // a file under another name while it is written, which others would list
			calls: []call{
				{"write_file", arguments{"path": in("a.txt"), "content": "one\r\ntwo\x00\n"}}, {"read_text_file", arguments{"path": in("a.txt")}},
				{"edit_file", arguments{"path": in("a.txt"), "edits": []any{arguments{"oldText": "one", "newText": "1"}}, "dryRun": true}},
				{"list_directory", arguments{"path": root}}, {"read_text_file", arguments{"path": "/etc/passwd"}}, {"list_allowed_directories", none},
			},
			tookRoots: "Updated allowed directories",
		},
		"memory": {
			keeps: true,
			calls: []call{
				{"create_entities", arguments{"entities": []any{arguments{"name": "a", "entityType": "t", "observations": []string{"ü"}}}}},
				{"read_graph", none}, {"search_nodes", arguments{"query": "A"}}, {"delete_entities", arguments{"entityNames": []string{"a"}}}, {"read_graph", none},
			},
		},
		"go": {
			calls:     greets("greet", "greet (structured)", "greet (content with ResourceLink)", "ping", "log", "sample", "elicit (form)", "roots"),
			prompts:   []mcp.GetPromptParams{{Name: "greet", Arguments: map[string]string{"name": "x"}}},
			resources: []string{"embedded:info"},
		},
	}[name]
}

// A session is one conversation.
type session struct {
	*mcp.ClientSession
	revision string
	took     func()
	progress chan struct{}
}

func main() {
	revisions, name, root, command := strings.Split(os.Args[1], ","), os.Args[2], os.Args[3], os.Args[4:]
	var all sync.WaitGroup
	for _, revision := range revisions {
		all.Go(func() {
			if err := converse(revision, planOf(name, root), root, command); err != nil {
				fmt.Fprintln(os.Stderr, revision, err)
				os.Exit(1)
			}
		})
		if planOf(name, root).keeps {
			all.Wait()
		}
	}
	all.Wait()
}

// say prints a step.
func (s *session) say(step string, result any, err error) {
	value := result
	if err != nil {
		value = arguments{"error": err.Error()}
	}
	line, err := json.Marshal([]any{s.revision, step, value})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// A teller notes a text that comes on stderr.
type teller struct {
	text string
	told func()

	said strings.Builder
}

func (t *teller) Write(b []byte) (int, error) {
	if t.said.Write(b); t.text != "" && strings.Contains(t.said.String(), t.text) {
		t.told()
	}
	return os.Stderr.Write(b)
}

func converse(revision string, p plan, root string, command []string) error {
	ctx := context.Background()
	taken := make(chan struct{})
	s := &session{revision: revision, took: sync.OnceFunc(func() { close(taken) }), progress: make(chan struct{}, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "converse", Version: "1"}, s.options(p))
	client.AddRoots(&mcp.Root{URI: "file://" + root, Name: "work"})
	args := make([]string, len(command))
	for i, arg := range command {
		args[i] = strings.ReplaceAll(arg, "REVISION", revision)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = io.Writer(&teller{text: p.tookRoots, told: s.took})
	var err error
	if s.ClientSession, err = client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: revision}); err != nil {
		return err
	}
	server := s.InitializeResult()
	s.say("server", server, nil)
	if p.tookRoots != "" && server.ProtocolVersion != withoutHandshake {
		<-taken
	}
	s.lists(ctx, server.Capabilities)
	s.uses(ctx, p)
	return s.Close()
}

func (s *session) options(p plan) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled"}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := arguments{"name": "ü", "integer": 7}
			if strings.Contains(fmt.Sprint(r.Params.RequestedSchema), "random") {
				content = arguments{"random": "ü"}
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			if p.tookRoots != "" && strings.Contains(fmt.Sprint(r.Params.Data), p.tookRoots) {
				s.took()
			}
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { s.progress <- struct{}{} },
	}
}

// lists asks for all that the server says it has.
func (s *session) lists(ctx context.Context, has *mcp.ServerCapabilities) {
	if has.Tools != nil {
		all, err := s.ListTools(ctx, nil)
		s.say("tools", all, err)
	}
	if has.Prompts != nil {
		all, err := s.ListPrompts(ctx, nil)
		s.say("prompts", all, err)
	}
	if has.Resources != nil {
		all, err := s.ListResources(ctx, nil)
		s.say("resources", all, err)
		templates, err := s.ListResourceTemplates(ctx, nil)
		s.say("templates", templates, err)
	}
}

// uses does what the plan says.
func (s *session) uses(ctx context.Context, p plan) {
	for _, c := range append(p.calls, call{"nothing-such", none}) {
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: c.name, Arguments: c.given})
		s.say(c.name, result, err)
	}
	if p.slow != nil {
		s.watches(ctx, *p.slow)
	}
	for _, prompt := range p.prompts {
		result, err := s.GetPrompt(ctx, &prompt)
		s.say(prompt.Name, result, err)
	}
	for _, uri := range p.resources {
		result, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		s.say(uri, result, err)
	}
	if s.InitializeResult().ProtocolVersion != withoutHandshake {
		s.say("ping", nil, s.Ping(ctx, nil))
	}
}

// watches cancels a call at its first step, and then lets one end.
func (s *session) watches(ctx context.Context, c call) {
	run := func(ctx context.Context, token string) (*mcp.CallToolResult, error) {
		params := &mcp.CallToolParams{Name: c.name, Arguments: c.given}
		params.SetProgressToken(token)
		return s.CallTool(ctx, params)
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		<-s.progress
		cancel()
	}()
	_, err := run(ctx, "cancelled")
	s.say("cancelled", nil, err)
	result, err := run(context.WithoutCancel(ctx), "watched")
	s.say("watched", result, err)
}
