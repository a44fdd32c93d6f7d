// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package mounts

import (
	"errors"

	"github.com/moby/sys/mountinfo"
)

func statfs(string) (Usage, error) { return Usage{}, errors.ErrUnsupported }

func parseWith(string) ([]*mountinfo.Info, error) { return nil, errors.ErrUnsupported }

func statMounts([]*mountinfo.Info) ([]*mountinfo.Info, error) { return nil, errRead }
