// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var getDiskUsage = Operation{
	Name:   "get_disk_usage",
	Action: "disk_usage",
	Flag:   "disk-usage",
	Alias:  "usage",
	Title:  "Disk usage",
	Description: "Find what fills a disk: largest directories and files below a path, where the inodes are, deleted files still open and by which process, " +
		"journal and package caches and what frees them, what grew since last time. Sizes are allocated bytes. " +
		"Stays on one file system and follows no link; for another mount point call it again. complete false means at least. " +
		"Takes up to 30 s. Changes nothing." + dataOnly,
	Usage:      "what fills the file system of a directory",
	Toolset:    DiagnosticsToolset,
	Effect:     Read,
	Idempotent: true,
	Privilege:  BetterRoot,
	Grant:      GrantContent,
	Deadline:   40 * time.Second,
	Lists:      true,
	Fields: []Field{
		{
			Name: "path", Flag: "disk-usage", Placeholder: "PATH", Kind: Text, MaxLength: 4096, Default: "/",
			Fix:         "Send the whole path of a directory, such as /var/log.",
			Description: "Directory, absolute",
		},
	},
}
