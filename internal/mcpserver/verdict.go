// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"time"
)

// atOnce is how fast an answer is that nobody gave: a person has to read a sentence and to reach
// for a button. Clients without a person, and those that were told to answer by themselves, do so
// within milliseconds. That an answer took longer proves no person.
const atOnce = 500 * time.Millisecond

// A verdict is what the answer to a question means.
type verdict struct {
	agreed bool
	nobody bool   // the client answered by itself
	why    string // it is not a yes, the end of a sentence
}

// judge reads an answer: an ElicitResult, or the error of the client. Only accept with the box
// ticked is a yes. What came at once is no person's, a yes neither.
func judge(answer json.RawMessage, failed error, took time.Duration) verdict {
	var r struct {
		Action  string `json:"action"`
		Content struct {
			GoAhead json.RawMessage `json:"go_ahead"`
		} `json:"content"`
	}
	switch wrong := json.Unmarshal(answer, &r); {
	case took < atOnce:
		return verdict{nobody: true}
	case failed != nil:
		return verdict{why: "the client could not ask its user"}
	case r.Action == "decline":
		return verdict{why: "the user declined"}
	case r.Action == "cancel":
		return verdict{why: "the user dismissed the question"}
	case wrong != nil || r.Action != "accept":
		return verdict{why: "the answer of the client is no answer to the question"}
	case string(r.Content.GoAhead) != "true":
		return verdict{why: "the user sent the form without its yes"}
	default:
		return verdict{agreed: true}
	}
}
