// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"sentinel/internal/jsonrpc"
	"sentinel/internal/sanitize"
)

// Kinds of values, by the byte with which they begin.
const (
	aText    = '"'
	anObject = '{'
)

// kinds are what members of params must be, in every method that has them. The
// arguments of a tool are looked at later, where a model reads what is wrong with them.
var kinds = map[string]byte{
	"_meta": anObject, "argument": anObject, "capabilities": anObject, "clientInfo": anObject, "context": anObject,
	"cursor": aText, "inputResponses": anObject, "level": aText, "name": aText, "notifications": anObject,
	"protocolVersion": aText, "ref": anObject, "requestState": aText, "uri": aText,
}

// metaKinds are the same for _meta.
var metaKinds = map[string]byte{
	mcp.MetaKeyProtocolVersion: aText, mcp.MetaKeyClientInfo: anObject,
	mcp.MetaKeyClientCapabilities: anObject, mcp.MetaKeyLogLevel: aText,
}

// wrongParams refuses a request for its params.
func wrongParams(what string) *refusal {
	return &refusal{code: jsonrpc.InvalidParams, sentence: "Invalid params: " + what}
}

// checkParams returns why the params of a message cannot be used, nil when they
// can. What mcp-go would say about them is about its own types.
func checkParams(m message) *refusal {
	if m.Params != nil && m.Members == nil && !isNull(m.Params) && m.Params[0] != anObject {
		return wrongParams("params must be an object")
	}
	if why := wrongKind("params.", m.Members, kinds); why != nil {
		return why
	}
	if why := wrongKind("params._meta.", m.Meta, metaKinds); why != nil {
		return why
	}
	if token := m.Meta.Get("progressToken"); len(token) > 0 && (token[0] == anObject || token[0] == '[' || token[0] == 't' || token[0] == 'f') {
		return wrongParams("params._meta.progressToken must be a text or a whole number")
	}
	if cursor, _ := jsonrpc.Text(m.Members.Get("cursor")); cursor != "" && strings.HasSuffix(m.Method, "/list") {
		return wrongParams("this cursor was never given: every list here is whole; leave cursor out")
	}
	return checkRevision(m)
}

// wrongKind finds the first member that is not what it must be. Some clients write
// null for what they leave out.
func wrongKind(where string, members jsonrpc.Object, kinds map[string]byte) *refusal {
	for _, member := range members {
		kind, known := kinds[member.Name]
		if !known || isNull(member.Value) || member.Value[0] == kind {
			continue
		}
		what := "an object"
		if kind == aText {
			what = "a text"
		}
		return wrongParams(where + member.Name + " must be " + what)
	}
	return nil
}

func isNull(value []byte) bool { return string(value) == "null" }

// checkRevision holds requests to what revision 2026-07-28 asks of each: its own
// revision and what the client can do. Requests of the revisions before have neither, and say in
// the handshake what they are. mcp-go compares revisions as texts and takes "zzz" for a later one.
func checkRevision(m message) *refusal {
	version, said := jsonrpc.Text(m.Meta.Get(mcp.MetaKeyProtocolVersion))
	abilities := m.Meta.Get(mcp.MetaKeyClientCapabilities)
	newOnly := m.is(mcp.MethodServerDiscover) || m.is(mcp.MethodSubscriptionsListen)
	switch {
	case said && !mcp.IsValidProtocolVersion(version):
		return unknownRevision(version)
	case !said && (abilities != nil || newOnly):
		return wrongParams("params._meta must have " + mcp.MetaKeyProtocolVersion + ", as every request since revision " + mcp.ProtocolVersion20260728)
	case said && newOnly && version != mcp.ProtocolVersion20260728:
		return wrongParams(fmt.Sprintf("%s is part of revision %s, not of %s", m.Method, mcp.ProtocolVersion20260728, version))
	case version == mcp.ProtocolVersion20260728 && (abilities == nil || isNull(abilities)):
		return wrongParams("params._meta must have " + mcp.MetaKeyClientCapabilities + "; {} when the client has none")
	}
	return nil
}

// unknownRevision is the error of 2026-07-28 for a revision that the server does not
// speak, with those that it does.
func unknownRevision(version string) *refusal {
	const most = 64
	shown := sanitize.Text(version, most)
	return &refusal{
		code:     mcp.UNSUPPORTED_PROTOCOL_VERSION,
		sentence: fmt.Sprintf("Unsupported protocol version: %q. Supported: %s", shown, strings.Join(mcp.ValidProtocolVersions, ", ")),
		data: map[string]any{
			"supported": mcp.ValidProtocolVersions,
			"requested": shown,
		},
	}
}
