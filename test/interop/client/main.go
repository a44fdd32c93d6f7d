// SPDX-License-Identifier: Apache-2.0

// Command client is the official Go client as a program: it starts the server
// that its arguments name, calls a tool for each line of standard input,
// {"tool": NAME, "arguments": {...}}, and prints each result as a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, server []string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "remedy-test", Version: "1"}, nil)
	cmd := exec.Command(server[0], server[1:]...)
	cmd.Stderr = os.Stderr
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		result, err := call(ctx, session, in.Bytes())
		if err != nil {
			return err
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return session.Close()
}

// A result is what a caller of the tool gets to see.
type result struct {
	IsError  bool `json:"is_error"`
	Document any  `json:"document"`
}

func call(ctx context.Context, session *mcp.ClientSession, line []byte) (result, error) {
	var wanted struct {
		Tool      string         `json:"tool"`
		Arguments map[string]any `json:"arguments"`
	}
	if err := json.Unmarshal(line, &wanted); err != nil {
		return result{}, err
	}
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: wanted.Tool, Arguments: wanted.Arguments})
	if err != nil {
		return result{}, err
	}
	return result{r.IsError, r.StructuredContent}, nil
}
