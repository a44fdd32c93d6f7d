// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"strings"

	"sentinel/internal/jsonrpc"
)

// nameMembers has the member of params that says what a request asks for. MCP 2026-07-28 lets these
// methods, and no others, be answered with input_required.
var nameMembers = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// NameMember returns the member of params by which a method names what it asks for; ok is false where
// it names nothing.
func NameMember(method string) (member string, ok bool) {
	member, ok = nameMembers[method]
	return member, ok
}

// NameOf returns the tool or prompt, the URI of the resource, or the task, that a request with these
// params asks for; "" when its method names nothing.
func NameOf(method string, params jsonrpc.Object) (name string) {
	member, ok := nameMembers[method]
	if strings.HasPrefix(method, TaskMethods) {
		member, ok = "taskId", true
	}
	if ok {
		name, _ = jsonrpc.Text(params.Get(member))
	}
	return name
}

// TaskMethods is how the methods begin that ask for what becomes of a task (MCP 2025-11-25): a call that
// is answered with one has its result there.
const TaskMethods = "tasks/"

// ArgumentsOf returns the arguments of a request, or its params where its method has no arguments.
func ArgumentsOf(method string, params []byte, members jsonrpc.Object) []byte {
	if method == "tools/call" || method == "prompts/get" {
		return members.Get("arguments")
	}
	return params
}
