// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"

	"sentinel/internal/guard/policy/as"
)

// maxWork is how many bytes the conditions of all rules may look at for one call. What is larger
// is refused.
const maxWork = 1 << 30

var errTooMuch = errors.New("the call is too large for the rules to be evaluated")

// A judge evaluates rules against one call.
type judge struct {
	env      Environment
	call     *Call
	explains bool   // somebody reads why what was not so was not so
	root     *value // parsed at the first condition
	rootErr  error
	all      []*value // scalars and names in root, for the first condition on every value
	values   *evaluated
	work     int
}

// arguments returns what conditions look into.
func (j *judge) arguments() (*value, error) {
	if j.root == nil && j.rootErr == nil {
		v, err := parseJSON(j.call.Arguments)
		j.root, j.rootErr = &v, err
	}
	return j.root, j.rootErr
}

// find calls see with what the selector of a condition finds in root.
func (j *judge) find(c *condition, root *value, see func(v *value, exact bool)) {
	if !c.selector.everything() {
		c.selector.below(root, c.selector.segments, true, see)
		return
	}
	if j.all == nil {
		walk(root, func(v *value) { j.all = append(j.all, v) })
	}
	for _, v := range j.all {
		see(v, true)
	}
}

// say returns a sentence, "" when nobody reads it: most conditions of most calls are not so.
func (j *judge) say(format string, args ...any) string {
	if !j.explains {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// An answer says whether a condition is so, and why.
type answer struct {
	so         bool
	unreadable bool // it is so because the value cannot be read
	why        string
}

// condition evaluates one condition of a rule that forbids, or of one that allows. Who forbids
// looks for one value and one reading of it that is so; who allows wants all of them so.
func (j *judge) condition(c *condition, forbids bool) (answer, error) {
	root, err := j.arguments()
	if err != nil {
		return answer{forbids, forbids, "the arguments cannot be read: " + err.Error()}, nil
	}
	all, some, f := true, answer{}, finds{}
	j.find(c, root, func(v *value, exact bool) {
		f.found(exact)
		c.flatten(v, func(v *value) {
			if c.passesOver(v) || err != nil {
				return
			}
			f.looked(exact)
			var a answer
			if a, err = j.one(c, v, forbids); a.so && !some.so {
				some = a
			}
			all = all && a.so
		})
	})
	switch name := c.selector.text; {
	case err != nil:
		return answer{}, err
	case c.exists != nil && !f.exists(*c.exists, forbids):
		return answer{why: j.say("%q is there: %v", name, f.values > 0)}, nil
	case len(c.tests) == 0:
		return answer{so: true, why: j.say("%q is there: %v", name, f.values > 0)}, nil
	case forbids && some.so:
		return some, nil
	case f.seen == 0 && (c.selector.anywhere() || c.ifPresent || !forbids):
		return answer{why: j.say("there is no %q", name)}, nil
	case f.seen == 0:
		return answer{true, true, fmt.Sprintf("there is no %q to look at", name)}, nil
	case !forbids && all:
		return answer{so: true, why: j.say("%q is as the rule wants it", name)}, nil
	default:
		return answer{why: j.say("%q is not what the rule is about", name)}, nil
	}
}

// finds counts what a selector finds: values, those of them under the exact name, and those of
// these that were looked at.
type finds struct{ values, exact, seen int }

func (f *finds) found(exact bool) {
	f.values++
	if exact {
		f.exact++
	}
}

func (f *finds) looked(exact bool) {
	if exact {
		f.seen++
	}
}

// exists says whether the argument is there, or is not, as the rule wants it. Under a name that
// differs by case it is there for some servers: a rule that forbids takes it so or so, one that
// allows neither.
func (f *finds) exists(want, forbids bool) bool {
	if forbids {
		return want && f.values > 0 || !want && f.exact == 0
	}
	return want && f.exact > 0 || !want && f.values == 0
}

// flatten calls see with the items of a list, each a value of its own, unless the condition
// compares whole lists.
func (c *condition) flatten(v *value, see func(*value)) {
	if v.kind != isArray || c.lists {
		see(v)
		return
	}
	for i := range v.items {
		c.flatten(&v.items[i], see)
	}
}

// passesOver says which of all the values in a call the condition is not about: names where paths
// or hosts are looked for, words where numbers are.
func (c *condition) passesOver(v *value) bool {
	if !c.selector.everything() {
		return false
	}
	switch {
	case c.as != asText:
		return v.kind != isString
	case slices.ContainsFunc(c.tests, func(t test) bool { return t.number != "" }):
		return v.kind != isNumber
	default:
		return false
	}
}

// one evaluates the tests for one value.
func (j *judge) one(c *condition, v *value, forbids bool) (answer, error) {
	if j.work += (len(v.text) + 1) * len(c.tests); j.work > maxWork {
		return answer{}, errTooMuch
	}
	var samples []sample
	read := false
	why := ""
	for i := range c.tests {
		t := &c.tests[i]
		so, typed := t.typed(c, v)
		if !typed {
			if !read {
				var err error
				if samples, err = j.read(c, v); err != nil {
					return answer{forbids, forbids, fmt.Sprintf("%q cannot be read as %s: %v", c.selector.text, c.as, err)}, nil
				}
				read = true
			}
			so = j.quantified(t, samples, forbids)
		} else if so == unknown {
			return answer{forbids, forbids, fmt.Sprintf("%q is not of the kind that the rule compares", c.selector.text)}, nil
		}
		if so == no {
			return answer{}, nil
		}
		why = t.operator
		if t.not {
			why = "not_" + why
		}
	}
	return answer{so: true, why: j.say("%q matches %q", c.selector.text, why)}, nil
}

type truth int

const (
	no truth = iota
	yes
	unknown
)

func truthOf(so bool) truth {
	if so {
		return yes
	}
	return no
}

// typed evaluates a test that compares values of JSON as they are. It is false for a test of
// texts.
func (t *test) typed(c *condition, v *value) (truth, bool) {
	switch {
	case t.number != "" && v.kind != isNumber:
		return unknown, true
	case t.number != "":
		order := compareNumbers(v.text, t.number)
		return truthOf(t.operator == "gt" && order > 0 || t.operator == "lt" && order < 0), true
	case t.operator != "equals" && t.operator != "in" || c.as != asText || v.kind == isName:
		return no, false
	case v.kind == isString && len(t.texts) > 0:
		return no, false
	}
	sameKind := false
	for _, want := range t.values {
		if want.equal(*v) {
			return truthOf(!t.not), true
		}
		sameKind = sameKind || want.kind == v.kind
	}
	if !sameKind && !c.selector.everything() {
		return unknown, true
	}
	return truthOf(t.not), true
}

// read returns the readings of a value that must be a text. Where all values are looked at, a
// number is one too, by its digits.
func (j *judge) read(c *condition, v *value) ([]sample, error) {
	if v.kind != isString && v.kind != isName && (!c.selector.everything() || v.kind >= isString) {
		return nil, errKind
	}
	return c.samples(j.env, v.text)
}

// quantified says whether a test holds for the readings of one value: for one, where the rule
// forbids; for all, where it allows.
func (j *judge) quantified(t *test, samples []sample, forbids bool) truth {
	if len(samples) > 0 && samples[0].place.Path != "" && t.operator != "contains" && t.operator != "starts_with" && t.operator != "regex" {
		resolved, err := j.resolve(t)
		if err != nil {
			return truthOf(forbids)
		}
		t = &resolved
	}
	if t.operator == "inside" && t.kinds {
		samples = kindSamples(samples)
	}
	if forbids {
		return truthOf(slices.ContainsFunc(samples, t.holds))
	}
	return truthOf(!slices.ContainsFunc(samples, func(s sample) bool { return !t.holds(s) }) && len(samples) > 0)
}

// resolve returns the test with its paths where they lead now.
func (j *judge) resolve(t *test) (test, error) {
	resolved := *t
	resolved.texts, resolved.places = nil, make([]as.Place, len(t.texts))
	for i, dir := range t.texts {
		place, err := j.env.paths().Literal(dir)
		if err != nil {
			return test{}, err
		}
		resolved.places[i] = place
	}
	return resolved, nil
}
