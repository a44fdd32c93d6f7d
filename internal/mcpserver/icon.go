// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	_ "embed"
	"encoding/base64"

	"github.com/mark3labs/mcp-go/mcp"
)

// icon.png is a shield with the line of a pulse, 48 pixels wide, in a few
// colours: from revision 2026-07-28 on every answer carries it. The bundles have it larger.
//
//go:embed icon.png
var iconPNG []byte

// icon returns the icon of the server inside a URI, so that a client fetches
// nothing to show it. PNG is what every client that shows icons must know.
func icon() mcp.Icon {
	return mcp.Icon{
		Src:      "data:image/png;base64," + base64.StdEncoding.EncodeToString(iconPNG),
		MIMEType: "image/png",
		Sizes:    []string{"48x48"},
	}
}
