// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"testing"
)

// Tokens of a known form, and names seen in the field, are redacted together with
// their values; ordinary words stay readable.
func TestTokensOfAKnownFormAreHidden(t *testing.T) {
	for _, args := range [][]string{
		{"s3", "put", "AKIASECRETSECRETSECR"},
		{"docker", "login", "dckr_pat_SECRETSECRETSECRET1"},
		{"curl", "https://hooks.slack.com/services/TSECRET/BSECRET/SECRET"},
		{"curl", "https://api.telegram.org/bot1234567:SECRETSECRETSECRETSECRET/send"},
		{"azcopy", "https://x.blob.core.windows.net/c?sv=1&sig=SECRET"},
		{"x", "--pw", "SECRET"}, {"x", "--db-pw=SECRET"}, {"x", "--otp=SECRET"}, {"x", "--pin", "SECRET"},
		{"x", "mnemonic=SECRET"}, {"x", "--sessionid=SECRET"},
	} {
		if got := Command(args, 200); strings.Contains(got, "SECRET") || !strings.Contains(got, Redacted) {
			t.Errorf("%q became %q", args, got)
		}
	}
	for _, args := range [][]string{
		{"ping", "-c", "3", "host"}, {"spin", "--speed", "7"}, {"x", "--signal", "TERM"}, {"mapping=3"}, {"design", "--config", "a"},
	} {
		if got := Command(args, 200); got != strings.Join(args, " ") {
			t.Errorf("%q became %q", args, got)
		}
	}
}
