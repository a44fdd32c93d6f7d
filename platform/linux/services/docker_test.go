// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"strings"
	"testing"

	"sentinel/internal/services"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/dockerd"
)

func TestARestartOfDockerTellsOfItsContainers(t *testing.T) {
	const file = "etc/docker/daemon.json"
	const stop, keep, may = "Its containers stop with it", "Its containers keep running", "Its containers may stop"
	for _, c := range []struct {
		unit  string
		files map[string]string
		args  []string
		want  string
	}{
		{"nginx.service", nil, nil, ""},
		{"docker.service", nil, nil, stop},
		{"docker.service", map[string]string{file: ""}, nil, stop},
		{"docker.service", map[string]string{file: `{"live-restore":false}`}, nil, stop},
		{"docker.service", map[string]string{file: `{"live-restore":true}`}, nil, keep + " if it was started with live-restore"},
		{"docker.service", map[string]string{file: `{"live-restore":`}, nil, may},
		{"docker.service", map[string]string{file + "/": ""}, nil, may},
		{"docker.service", map[string]string{file: strings.Repeat(" ", dockerd.MaxFile) + `{"live-restore":true}`}, nil, may},
		{"docker.service", nil, []string{"/usr/bin/dockerd", "--live-restore"}, keep + " (--live-restore)"},
		{"docker.service", nil, []string{"/usr/bin/dockerd", "--live-restore=false"}, stop},
		{"docker.service", nil, []string{"/usr/bin/dockerd", "--live-restore=1"}, keep + " (--live-restore)"},
		{"docker.service", map[string]string{file: `{"live-restore":true}`}, []string{"/usr/bin/dockerd", "--config-file=/run/d.json"}, stop},
		{"docker.service", map[string]string{"run/d.json": `{"live-restore":true}`}, []string{"/usr/bin/dockerd", "--config-file=/run/d.json"}, keep + " if it was started with live-restore, which /run/d.json has"},
		{"docker.service", map[string]string{"run/d.json": "{"}, []string{"/usr/bin/dockerd", "--config-file=/run/d.json"}, may},
		{"docker.service", nil, []string{"/usr/bin/dockerd", "$DOCKER_OPTS"}, may + ": whether it has live-restore is up to a variable"},
	} {
		m := &manager{root: testenv.Plant(t, c.files)}
		says, stopping := m.hosted(services.Unit{Name: c.unit, Commands: [][]string{c.args}})
		got, ends := strings.TrimSpace(says), strings.HasPrefix(c.want, stop) || strings.HasPrefix(c.want, may)
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || (stopping == containerScopes) != ends {
			t.Errorf("%s %v %v: %q, %q", c.unit, c.files, c.args, got, stopping)
		}
	}
}
