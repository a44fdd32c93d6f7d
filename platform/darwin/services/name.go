// SPDX-License-Identifier: Apache-2.0

package services

import (
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// maxName bounds names, in bytes.
const maxName = 255

// jobName checks the name of a job of launchd: a label, which is looked for in the
// domains of the system and of whoever asks, or one with its domain before it: system/LABEL,
// gui/UID/LABEL, user/UID/LABEL (launchctl(1)).
func jobName(asked string) (string, error) {
	parts := strings.Split(asked, "/")
	if why := wrongDomain(parts[:len(parts)-1]); why != "" {
		return "", notJob(asked, why)
	}
	label := parts[len(parts)-1]
	switch {
	case label == "":
		return "", notJob(asked, "it is empty")
	case len(asked) > maxName:
		return "", notJob(asked, "it is longer than "+strconv.Itoa(maxName)+" characters")
	case label[0] == '-' || label[0] == '.':
		return "", notJob(asked, "it begins with "+strconv.Quote(label[:1]))
	case strings.ContainsFunc(label, notOfLabel):
		return "", notJob(asked, "only letters, digits and . - _ @ are allowed")
	case strings.HasSuffix(label, ".plist"):
		return "", notJob(asked, "it is that of a file")
	}
	return asked, nil
}

// wrongDomain says what is wrong with what stands before a label.
func wrongDomain(parts []string) string {
	const forms = "what stands before the label must be system, gui/UID or user/UID"
	switch {
	case len(parts) == 0, len(parts) == 1 && parts[0] == "system":
		return ""
	case len(parts) != 2 || parts[0] != "gui" && parts[0] != "user":
		return forms
	}
	if uid, err := strconv.ParseUint(parts[1], 10, 31); err != nil || strconv.FormatUint(uid, 10) != parts[1] {
		return forms
	}
	return ""
}

// notOfLabel keeps to what labels in use are made of. The at sign is that of
// Homebrew, which calls a version of a formula so.
func notOfLabel(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune(".-_@", r)
}

func notJob(asked, why string) error {
	return fault.New(fault.InvalidService, strconv.Quote(shown(asked))+" is not the name of a service: "+why+".").
		WithFix("Send its label, such as com.example.server, or its label in a domain, such as system/com.example.server or gui/501/com.example.agent.")
}

func shown(text string) string { return sanitize.Text(text, 80) }
