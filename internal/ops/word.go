// SPDX-License-Identifier: Apache-2.0

package ops

// Word returns what people may type in place of the flag, as in "sentinel block
// 203.0.113.7": its alias, or the flag without its dashes.
func (o Operation) Word() string {
	if o.Alias != "" {
		return o.Alias
	}
	return o.Flag
}

// ByWord returns the action that a word stands for: its alias or its flag.
func ByWord(word string) (Operation, bool) {
	for _, o := range Actions() {
		if word != "" && (word == o.Alias || word == o.Flag) {
			return o, true
		}
	}
	return Operation{}, false
}

// SpelledWord returns the word with the placeholder of its value.
func (o Operation) SpelledWord() string {
	if f := o.Object(); f != nil {
		return o.Word() + " " + f.ValueName()
	}
	return o.Word()
}
