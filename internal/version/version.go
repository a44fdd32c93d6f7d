// SPDX-License-Identifier: Apache-2.0

// Package version holds the release number that all programs report.
package version

// Number is the release, in semantic versioning. It is the value of "version"
// in every document and of serverInfo in the MCP handshake.
const Number = "0.1.0"
