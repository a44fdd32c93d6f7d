// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"math"
	"strconv"
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

// needed are the members of params without which a request means nothing (MCP, all
// revisions that have the method).
var needed = map[string][]string{
	string(mcp.MethodInitialize): {"protocolVersion", "capabilities", "clientInfo"},
	string(mcp.MethodToolsCall):  {"name"}, string(mcp.MethodPromptsGet): {"name"},
	string(mcp.MethodSubscriptionsListen): {"notifications"},
}

// checkParams returns why the params of a request cannot be used, nil when they
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
	if token := given(m.Meta, "progressToken"); token != nil && !usableToken(token) {
		return wrongParams(fmt.Sprintf("params._meta.progressToken must be a text of at most %d bytes or a whole number of at most 2^53", maxToken))
	}
	if cursor, _ := jsonrpc.Text(m.Members.Get("cursor")); cursor != "" && strings.HasSuffix(m.Method, "/list") {
		return wrongParams("this cursor was never given: every list here is whole; leave cursor out")
	}
	if why := checkRevision(m); why != nil {
		return why
	}
	return checkNeeded(m)
}

// checkNeeded finds what a request lacks.
func checkNeeded(m message) *refusal {
	for _, name := range needed[m.Method] {
		if given(m.Members, name) == nil {
			return wrongParams("params must have " + name)
		}
	}
	if version, _ := jsonrpc.Text(m.Members.Get("protocolVersion")); m.is(mcp.MethodInitialize) && version == "" {
		return wrongParams("params.protocolVersion must name a revision, such as " + mcp.LATEST_LEGACY_PROTOCOL_VERSION)
	}
	where, info := "params.clientInfo", given(m.Members, "clientInfo")
	if !m.is(mcp.MethodInitialize) {
		where, info = "params._meta."+mcp.MetaKeyClientInfo, given(m.Meta, mcp.MetaKeyClientInfo)
	}
	if members, _ := jsonrpc.ParseObject(info); info != nil && (!isText(members, "name") || !isText(members, "version")) {
		return wrongParams(where + " must have name and version, both texts")
	}
	return nil
}

func isText(members jsonrpc.Object, name string) bool {
	_, ok := jsonrpc.Text(members.Get(name))
	return ok
}

// usableToken says that a progress token is a text or a whole number, however that is spelled
// (MCP, "Progress"): it goes back as it came.
func usableToken(token jsonrpc.ID) bool {
	if _, ok := token.Key(); !ok || len(token) > maxToken {
		return false
	}
	n, err := strconv.ParseFloat(string(token), 64)
	return token[0] == aText || err == nil && n == math.Trunc(n)
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

// given returns a member, nil when it was left out.
func given(members jsonrpc.Object, name string) []byte {
	if value := members.Get(name); !isNull(value) {
		return value
	}
	return nil
}

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
