// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"sentinel/internal/deadline"
	"sentinel/internal/fault"
)

const (
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 1 << 10
	// answerLimit is how long a question stands: what it shows grows old.
	answerLimit = 10 * time.Minute
)

// ask shows a person at a terminal what a change would do, and asks. A program, a run
// without a terminal on both ends, and --yes are not asked.
func ask(ctx context.Context, call invocation, c change, stdin io.Reader) error {
	width, atTerminal := terminalWidth(stdin, call.stderr)
	if c.question == "" || call.request || call.yes || !atTerminal {
		return nil
	}
	p := newPage(width, false)
	p.line("%s", p.own(c.would))
	if e, ok := c.preview.(explained); ok {
		e.explain(p)
	}
	fmt.Fprintf(call.stderr, "%s%s [y/N] ", p.bytes(), c.question) //nolint:errcheck // who does not see it does not say yes
	answer, err := deadline.Call(ctx, answerLimit, func(context.Context) (string, error) { return readAnswer(stdin), nil })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || !agrees(answer) {
		return fault.New(fault.Cancelled, "Nothing was changed, because the answer was not yes.").WithFix("Run it again and answer y, or run it with --yes.")
	}
	return nil
}

// terminalWidth returns the columns of the terminal that a person answers at.
func terminalWidth(in io.Reader, out io.Writer) (width int, ok bool) {
	input, isFile := in.(*os.File)
	shown, isFileToo := out.(*os.File)
	if !isFile || !isFileToo || !term.IsTerminal(int(input.Fd())) || !term.IsTerminal(int(shown.Fd())) {
		return 0, false
	}
	if width, _, err := term.GetSize(int(shown.Fd())); err == nil && width > 0 {
		return width, true
	}
	return defaultWidth, true
}

// readAnswer reads a line. What is left of it at the end of the input counts.
func readAnswer(in io.Reader) string {
	line, _ := bufio.NewReader(io.LimitReader(in, maxAnswer)).ReadString('\n') //nolint:errcheck // no answer is no
	return line
}

func agrees(answer string) bool {
	word := strings.ToLower(strings.TrimSpace(answer))
	return word == "y" || word == "yes"
}
