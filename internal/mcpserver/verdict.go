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
	var r struct {
		Action  string `json:"action"`
		Content struct {
			GoAhead json.RawMessage `json:"go_ahead"`
		} `json:"content"`
	}
	wrong := json.Unmarshal(answer, &r)
	yes := wrong == nil && r.Action == "accept" && string(r.Content.GoAhead) == "true"
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
	case wrong != nil || !slices.Contains([]string{"accept", "decline", "cancel"}, r.Action):
		return verdict{silent, "the answer of the client is no answer to the question"}
	case r.Action == "decline":
		return verdict{declined, "the user declined"}
	case r.Action == "cancel":
		return verdict{declined, "the user dismissed the question"}
	default:
		return verdict{declined, "the user sent the form without its yes"}
	}
}

// notTaken reports whether an error says that the client does not know such a request, although it
// has declared it. Programs between a client and a server do that. Any other error may be that of a
// window that was closed; the official clients have -32602 for an answer that does not fit the form.
func notTaken(failed error) bool {
	e, ok := errors.AsType[*clientError](failed)
	return ok && (e.Code == jsonrpc.MethodNotFound || e.Code == jsonrpc.InvalidRequest)
}
