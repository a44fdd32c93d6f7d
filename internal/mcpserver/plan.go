// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/sanitize"
)

// The values of policy.ask that this program tells from one another.
const (
	askOff     = "off"
	askOffered = "offered"
)

// A plan is what a dry run says of a change, as far as a question needs it.
type plan struct {
	host     string // that was named in the call; "" is this machine
	DryRun   bool   `json:"dry_run"`
	Hostname string `json:"hostname"`
	Details  string `json:"details"`
	Preview  struct {
		Closes       []socket `json:"closes"`
		ClosesTotal  int      `json:"closes_total"`
		Exposes      []socket `json:"exposes"`
		ExposesTotal int      `json:"exposes_total"`
	} `json:"preview"`
	Asking *struct {
		Policy string `json:"policy"`
		Plan   string `json:"plan"`
		Idle   bool   `json:"idle"`
	} `json:"asking"`
}

// A socket is one that a change of the firewall shuts or opens.
type socket struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Process  string `json:"process"`
}

const (
	maxSockets  = 5    // that a question names
	maxProcess  = 64   // runes of the name of one that listens
	maxQuestion = 1500 // runes
)

// text is the question: the machine, what would happen there, in sentinel's own words, which come from another
// machine in quotes, and nothing that the model wrote. What is too long is cut before the lists: what would be open is asked about whatever
// else there is to say.
func (p plan) text() string {
	lists := list(" It would close", p.Preview.Closes, p.Preview.ClosesTotal) + list(" It would open", p.Preview.Exposes, p.Preview.ExposesTotal)
	return harmless(sanitize.Text(p.machine()+": "+p.Details, maxQuestion-utf8.RuneCountInString(lists)) + lists)
}

// machine names what would be changed. What another machine calls itself proves nothing, and must not
// read as the end of the sentence about it.
func (p plan) machine() string {
	if p.host == "" {
		return p.Hostname
	}
	return p.host + " (which calls itself " + nameAlone(p.Hostname) + ")"
}

// nameAlone returns what of a text can be the name of a host, which is one word (hostname(7)).
func nameAlone(text string) string {
	const most = 64
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
	})
	if end >= 0 {
		text = text[:end] + "…"
	}
	return sanitize.Text(text, most)
}

// port is the port as a firewall has it. The answer of another machine may have any text for the protocol,
// which would read as a part of the sentence.
func (s socket) port() string {
	if !slices.Contains([]string{"tcp", "udp", "udplite"}, s.Protocol) {
		return fmt.Sprintf("%d of an unknown protocol", s.Port)
	}
	return fmt.Sprintf("%d/%s", s.Port, s.Protocol)
}

// list names the first of the sockets of a change.
func list(what string, sockets []socket, total int) string {
	if len(sockets) == 0 {
		return ""
	}
	var names []string
	for _, s := range sockets[:min(len(sockets), maxSockets)] {
		process := "unknown process"
		if s.Process != "" {
			process = sanitize.Quoted(s.Process, maxProcess)
		}
		names = append(names, fmt.Sprintf("%s (%s)", s.port(), process))
	}
	more := ""
	if n := max(total, len(sockets)) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return what + " " + strings.Join(names, ", ") + more + "."
}

// markup is what clients that render Markdown or HTML would make something of: links, also of an
// address of mail, emphasis, tags, and characters by their names or numbers, such as an invisible one.
var markup = strings.NewReplacer("[", "(", "]", ")", "<", "‹", ">", "›", "`", "'", "*", "∗", "~", "-", "://", ": //",
	"&", "＆", `\`, "＼", "@", "＠")

var (
	bareLink = lazyregexp.New(`(?i)\b(www)\.`)
	// outerLines are those of no word, or at its edge: within one they are no emphasis (CommonMark, 6.2).
	outerLines = lazyregexp.New(`\b_+|_+\b`)
)

// harmless makes one plain line of a text with names in it that anybody could have chosen: no
// control or invisible characters, no link, no emphasis that hides a word.
func harmless(text string) string {
	text = markup.Replace(sanitize.Text(text, maxQuestion))
	text = outerLines.Get().ReplaceAllStringFunc(text, func(lines string) string { return strings.ReplaceAll(lines, "_", "＿") })
	return bareLink.Get().ReplaceAllString(text, "$1 .")
}

// form is the question as an ElicitRequest. Its one box has no default: a client that fills in what
// it is given does not agree by that.
func (p plan) form() mcp.ElicitationParams {
	return mcp.ElicitationParams{
		Message: p.text(),
		RequestedSchema: map[string]any{
			"type": "object",
			"properties": map[string]any{
				"go_ahead": map[string]any{"type": "boolean", "title": "Go ahead", "description": "Do what is described above"},
			},
			"required": []string{"go_ahead"},
		},
	}
}

// questionID names the one question in a result that requires input.
const questionID = "go_ahead"

// inputRequired is the question as the result of a call, which the client repeats with the answer
// and state.
func (p plan) inputRequired(state string) *mcp.CallToolResult {
	return server.NewInputRequestBuilder(state).Elicit(questionID, p.form()).ToolResult()
}
