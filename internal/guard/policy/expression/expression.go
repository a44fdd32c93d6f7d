// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the conditions that a rule has in its "when", in the
// Common Expression Language. It alone links CEL, and nothing of CEL is set up before the first
// expression is compiled.
package expression

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"sentinel/internal/guard/stage"
)

// Bounds of one expression.
const (
	maxSize    = 8 << 10 // bytes
	maxNesting = 64
	maxCost    = 1_000_000 // of one evaluation, in the units of CEL: some milliseconds
)

// A Call is what an expression sees as "call".
type Call struct {
	Method, On, Server, Name string
	Arguments, Annotations   []byte // JSON
}

// A Program is a compiled expression; it may be evaluated by many at once.
type Program struct {
	program cel.Program

	// Hints says that the expression looks at the annotations of the tool.
	Hints bool
}

// environment is what expressions may name: call, a map.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("call", cel.MapType(cel.StringType, cel.DynType)),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxSize),
	)
})

// Compile reads an expression, which must be true or false.
func Compile(text string) (*Program, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("it is longer than %d bytes", maxSize)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, errors.New(firstLine(err.Error()))
	}
	if kind := ast.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it is %s, and must be true or false", kind)
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost))
	if err != nil {
		return nil, err
	}
	return &Program{program, strings.Contains(text, "annotations")}, nil
}

// firstLine leaves out the drawing below an error of CEL.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "ERROR: ")
}

// Values is a call as expressions see it.
type Values map[string]any

// missing are the hints of a server that says nothing (MCP, ToolAnnotations).
var missing = stage.Hints{Destructive: true, OpenWorld: true}

// HintsOf returns the hints among annotations, with MCP's defaults where they are missing or no hints;
// nil counts as {}.
func HintsOf(annotations []byte) stage.Hints {
	h := missing
	members := map[string]json.RawMessage{}
	if json.Unmarshal(annotations, &members) != nil {
		return missing
	}
	for name, into := range map[string]*bool{"readOnlyHint": &h.ReadOnly, "destructiveHint": &h.Destructive, "idempotentHint": &h.Idempotent, "openWorldHint": &h.OpenWorld} {
		if value := string(members[name]); value == "true" || value == "false" {
			*into = value == "true"
		}
	}
	return h
}

// hints are the annotations of a tool that expressions see where the server says nothing.
func hints() map[string]any {
	return map[string]any{"readOnlyHint": missing.ReadOnly, "destructiveHint": missing.Destructive, "idempotentHint": missing.Idempotent, "openWorldHint": missing.OpenWorld}
}

// Of returns the values of a call. Arguments that an expression could not see exactly are an error.
func Of(c Call) (Values, error) {
	arguments, err := decode(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("its arguments: %w", err)
	}
	annotations := hints()
	given, err := decode(c.Annotations)
	if err != nil {
		return nil, fmt.Errorf("the annotations of the tool: %w", err)
	}
	object, ok := given.(map[string]any)
	if !ok {
		return nil, errors.New("the annotations of the tool are no object")
	}
	maps.Copy(annotations, object)
	return Values{"call": map[string]any{
		"method": c.Method, "on": c.On, "server": c.Server, "name": c.Name, "arguments": arguments, "annotations": annotations,
	}}, nil
}

// True evaluates the program. An expression that fails, costs too much or is neither true nor
// false is an error.
func (p *Program) True(values Values) (bool, error) {
	out, _, err := p.program.Eval(map[string]any(values))
	if err != nil {
		return false, err
	}
	result, ok := out.(types.Bool)
	if !ok {
		return false, errors.New("it is neither true nor false")
	}
	return bool(result), nil
}

// decode reads JSON into what CEL knows. Nil is {}.
func decode(raw []byte) (any, error) {
	if raw == nil {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := next(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func next(d *json.Decoder, depth int) (any, error) {
	const maxDepth = 512
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errors.New("it is nested too deeply")
	}
	switch t := token.(type) {
	case json.Number:
		return exactly(t.String())
	case json.Delim:
		if t == '{' {
			return object(d, depth)
		}
		return list(d, depth)
	default:
		return token, nil
	}
}

func object(d *json.Decoder, depth int) (any, error) {
	members := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, twice := members[name]; twice {
			return nil, errors.New("a name is there twice")
		}
		if members[name], err = next(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return members, err
}

func list(d *json.Decoder, depth int) (any, error) {
	items := []any{}
	for d.More() {
		item, err := next(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := d.Token()
	return items, err
}

// exactly returns a number as an integer or as a double that is no other number.
func exactly(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	const maxDigits = 400
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > maxDigits {
		return nil, errors.New("a number in it cannot be compared exactly")
	}
	if strings.ContainsAny(text, ".eE") { // a fraction is rounded to its double, as everybody does
		return f, nil
	}
	whole, ok := new(big.Float).SetPrec(4 * maxDigits).SetString(text)
	if !ok || whole.Cmp(big.NewFloat(f)) != 0 {
		return nil, errors.New("a number in it cannot be compared exactly")
	}
	return f, nil
}
