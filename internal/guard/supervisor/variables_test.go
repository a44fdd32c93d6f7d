// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAServerGetsTheVariablesThatItNeeds(t *testing.T) {
	kept, taken := Minimal([]string{
		"PATH=/bin", "HOME=/home/a", "LC_ALL=C", "XDG_CONFIG_HOME=/c", "npm_config_cache=/n", "https_proxy=http://p", "UV_CACHE_DIR=/u", "Path=/x",
		"npm_config__authToken=1", "npm_config__auth=1", "LC_SECRET=1", "UV_PUBLISH_PASSWORD=1", "XDG_KEY=1", "GITHUB_TOKEN=1", "MY_API_KEY=1", "AWS_PROFILE=1",
		"GIVEN=1", "GIVEN_TOKEN=a=b", "given=2", "EMPTY=", "XPATH=1", "=odd", "", "AWS_PROFILE=again",
	}, []string{"GIVEN", "GIVEN_TOKEN", "NOT_THERE"})
	wantKept := []string{"PATH=/bin", "HOME=/home/a", "LC_ALL=C", "XDG_CONFIG_HOME=/c", "npm_config_cache=/n", "https_proxy=http://p", "UV_CACHE_DIR=/u", "Path=/x", "GIVEN=1", "GIVEN_TOKEN=a=b"}
	wantTaken := []string{"AWS_PROFILE", "EMPTY", "GITHUB_TOKEN", "LC_SECRET", "MY_API_KEY", "UV_PUBLISH_PASSWORD", "XDG_KEY", "XPATH", "given", "npm_config__auth", "npm_config__authToken"}
	if diff := cmp.Diff(wantKept, kept); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantTaken, taken); diff != "" {
		t.Error(diff)
	}
}

func TestAServerThatNeedsNothingGetsNothing(t *testing.T) {
	if kept, _ := Minimal([]string{"A=1"}, nil); kept == nil || len(kept) != 0 {
		t.Errorf("%v, which would be all variables of this process", kept)
	}
}
