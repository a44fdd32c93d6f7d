// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sentinel/internal/jsonrpc"
)

// atOnce is how fast an answer is that nobody gave: a person has to read a sentence and to reach
// for a button. Clients without a person, and those that were told to answer by themselves, do so
// within milliseconds. That an answer took longer proves no person.
const atOnce = 500 * time.Millisecond

// A verdict is what the answer to a question means.
type verdict struct {
	meaning meaning
	why     string // it is not a yes, the end of a sentence
}

// A meaning is what an answer says of the change that was asked about.
type meaning int

const (
	approved   meaning = iota // somebody said yes
	declined                  // somebody was asked, and did not say yes
	silent                    // nobody is known to have said anything: no yes, and no refusal either
	unattended                // there is nobody to ask, or the client was told to agree by itself
)

// judge reads an answer: an ElicitResult, or the error of the client. Only accept with the box
// ticked is a yes. What came at once is no person's, a yes neither; but nothing is done over a no,
// whoever it is from: a key that was meant for something else closes a question as well.
func judge(answer json.RawMessage, failed error, took time.Duration) verdict {
	action, ticked := read(answer)
	yes := action == "accept" && ticked
	switch {
	case failed != nil && notTaken(failed):
		return verdict{unattended, "the client does not show questions"}
	case failed != nil:
		return verdict{silent, "the client could not ask its user"}
	case took < atOnce && yes:
		return verdict{unattended, "the client agreed before anybody could read the question"}
	case took < atOnce:
		return verdict{silent, "the client answered before anybody could read the question"}
	case yes:
		return verdict{meaning: approved}
	case !slices.Contains([]string{"accept", "decline", "cancel"}, action):
		return verdict{silent, "the answer of the client is no answer to the question"}
	case action == "decline":
		return verdict{declined, "the user declined"}
	case action == "cancel":
		return verdict{declined, "the user dismissed the question"}
	default:
		return verdict{declined, "the user sent the form without its yes"}
	}
}

// read reads an ElicitResult by the very names of its members: encoding/json would take "Action" for
// "action", and the last of both. What has not the form of one has no action.
func read(answer json.RawMessage) (action string, ticked bool) {
	result, ok := jsonrpc.ParseObject(answer)
	content := given(result, "content")
	form, whole := jsonrpc.ParseObject(content)
	if !ok || content != nil && !whole {
		return "", false
	}
	action, _ = jsonrpc.Text(result.Get("action"))
	return action, string(form.Get("go_ahead")) == "true"
}

// notTaken reports whether an error says that the client does not know such a request, although it
// has declared it. Programs between a client and a server do that. Any other error may be that of a
// window that was closed; the official clients have -32602 for an answer that does not fit the form.
func notTaken(failed error) bool {
	e, ok := errors.AsType[*clientError](failed)
	return ok && (e.Code == jsonrpc.MethodNotFound || e.Code == jsonrpc.InvalidRequest)
}
