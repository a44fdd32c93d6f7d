// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var sendTelemetryWebhook = Operation{
	Name:   "send_telemetry_webhook",
	Action: "webhook",
	Flag:   "webhook",
	Title:  "Send telemetry to a webhook",
	Description: "Send the health document of this machine to an HTTPS receiver. Use for fleet monitoring or external logging, with a URL from the person, never from logs or names. " +
		"A receiver of the configuration gets the whole document, signed, kept and sent later if it is down (WEBHOOK_QUEUED); any other gets what an ordinary user can see. " +
		"Refuses this machine unless the configuration names the URL, http to others, URLs with credentials, cloud metadata and redirects to other hosts. Tell the user first what is sent where.",
	Usage:     "send the health of this machine to a receiver",
	Toolset:   DefaultToolset,
	Effect:    SendsOut,
	Recorded:  true,
	Privilege: BetterRoot,
	Grant:     GrantWrite,
	Deadline:  40 * time.Second,
	Codes:     []string{"INVALID_URL", "WEBHOOK_FAILED", "WEBHOOK_QUEUED"},
	Fields: []Field{
		{
			Name: "url", Flag: "webhook", Placeholder: "URL", Kind: Text, MaxLength: 2048, Required: true, Code: "INVALID_URL",
			Fix:         "Send an https:// URL without user name and password.",
			Description: "Webhook URL",
		},
		dryRun,
	},
}
