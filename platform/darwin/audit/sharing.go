// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

func sharingChecks() []check {
	return []check{
		{About: audit.About{
			ID: "sharing.remote_login", Name: "Remote Login", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_ssh_disable",
			Description: "Whoever has a password or a key gets a shell from anywhere.",
			Formula:     "PASS when launchd has no com.openssh.sshd. WARN when it does; then the ssh checks look at its settings.",
		}, Run: launchdService("com.openssh.sshd", "sudo systemsetup -setremotelogin off")},
		{About: audit.About{
			ID: "sharing.screen", Name: "Screen Sharing", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_screen_sharing_disable",
			Description: "Others can see this screen and use the keyboard.",
			Formula:     "PASS when launchd has no com.apple.screensharing. WARN when it does.",
		}, Run: launchdService("com.apple.screensharing", "sudo launchctl disable system/com.apple.screensharing && sudo launchctl bootout system/com.apple.screensharing")},
		{About: audit.About{
			ID: "sharing.files", Name: "File Sharing", Severity: audit.Medium, Weight: 3,
			Reference:   "mSCP system_settings_smbd_disable",
			Description: "Shared folders can be read, and often written, from the network.",
			Formula:     "PASS when launchd has no com.apple.smbd. WARN when it does.",
		}, Run: launchdService("com.apple.smbd", "sudo launchctl disable system/com.apple.smbd && sudo launchctl bootout system/com.apple.smbd")},
		{About: audit.About{
			ID: "sharing.guest", Name: "File Sharing with guests", Severity: audit.High, Weight: 5,
			Reference:   "mSCP system_settings_guest_access_smb_disable",
			Description: "Guests reach shared folders without a password.",
			Formula:     "PASS when AllowGuestAccess of the file server is off. FAIL when it is on. Skipped when the key is absent. Does not apply while File Sharing is off.",
		}, Run: guestShares},
		{About: audit.About{
			ID: "sharing.management", Name: "Remote Management", Severity: audit.Medium, Weight: 4,
			Reference:   "mSCP system_settings_remote_management_disable",
			Description: "Apple Remote Desktop sees the screen and runs commands as root.",
			Formula:     "PASS when mdmclient says that remote desktop is off. WARN when it is on. Needs root.",
		}, Run: remoteManagement, Limit: 10 * time.Second},
		{About: audit.About{
			ID: "sharing.apple_events", Name: "Remote Apple Events", Severity: audit.Medium, Weight: 3,
			Reference:   "mSCP system_settings_rae_disable",
			Description: "Programs on other computers can control programs on this one.",
			Formula:     "PASS when launchd has no com.apple.AEServer. WARN when it does.",
		}, Run: launchdService("com.apple.AEServer", "sudo systemsetup -setremoteappleevents off")},
		{About: audit.About{
			ID: "sharing.printers", Name: "Printer Sharing", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP system_settings_printer_sharing_disable",
			Description: "The print server accepts jobs from the network, and has had security holes.",
			Formula:     "PASS when cupsctl says that printers are not shared. WARN when they are.",
		}, Run: sharedPrinters},
		{About: audit.About{
			ID: "sharing.internet", Name: "Internet Sharing", Severity: audit.Medium, Weight: 3,
			Reference:   "mSCP system_settings_internet_sharing_disable",
			Description: "This Mac lets other devices into its network.",
			Formula:     "PASS when com.apple.nat says that it is off, or does not exist: System Settings creates it when Internet Sharing is first set up. WARN when it is on.",
		}, Run: internetSharing},
		{About: audit.About{
			ID: "sharing.bluetooth", Name: "Bluetooth Sharing", Severity: audit.Low, Weight: 1,
			Reference:   "mSCP system_settings_bluetooth_sharing_disable",
			Description: "Files come in from devices nearby.",
			Formula:     "PASS when every user who has set it has it off. WARN when one has it on. Skipped when nobody has set it, or no home can be read.",
		}, Run: bluetoothSharing},
	}
}

// notFound is the exit status of launchctl when launchd does not have a service.
const notFound = 113

// loaded asks launchd whether it has a service in the system domain. The output of
// launchctl print is not meant for programs, so only its first label and the exit status count.
func (m *machine) loaded(ctx context.Context, label string) (bool, error) {
	r, err := m.run(ctx, "/bin/launchctl", "print", "system/"+label)
	switch {
	case err != nil:
		return false, err
	case r.Exit == notFound:
		return false, nil
	case r.Exit == 0 && strings.Contains(string(r.Stdout), label+" = {"):
		return true, nil
	default:
		return false, errUnknownOutput
	}
}

// launchdService is a check that launchd does not have a service.
func launchdService(label, fix string) func(context.Context, *machine) audit.Finding {
	return func(ctx context.Context, m *machine) audit.Finding {
		on, err := m.loaded(ctx, label)
		switch {
		case err != nil:
			return audit.Unread("launchctl", err)
		case on:
			return audit.Warned("On", "If nobody needs it, switch it off in System Settings, General, Sharing, or: "+fix, "launchctl print system/"+label+": it is loaded")
		default:
			return audit.Passed("Off")
		}
	}
}

func guestShares(ctx context.Context, m *machine) audit.Finding {
	on, err := m.loaded(ctx, "com.apple.smbd")
	if err != nil {
		return audit.Unread("launchctl", err)
	}
	if !on {
		return audit.NotApplicable("File Sharing is off")
	}
	const domain, key = "SystemConfiguration/com.apple.smb.server", "AllowGuestAccess"
	d, err := m.prefs(domain)
	if err != nil {
		return audit.Unread(domain, err)
	}
	switch guests, set := d.Bool(key); {
	case !set:
		return audit.Unseen(key + " is not set; the default of this release holds")
	case guests:
		return audit.Failed("On", "sudo sysadminctl -smbGuestAccess off", audit.At(d.Where(key), 0, key+" is on"))
	default:
		return audit.Passed("Off")
	}
}

// securityInfo asks the client of device management, once.
func (m *machine) securityInfo(ctx context.Context) (securityInfo, error) {
	return m.security.Get(func() (securityInfo, error) {
		r, err := m.runWithin(ctx, 8*time.Second, "/usr/libexec/mdmclient", "QuerySecurityInfo")
		if err != nil {
			return securityInfo{}, err
		}
		return parseSecurityInfo(r.Stdout)
	})
}

func remoteManagement(ctx context.Context, m *machine) audit.Finding {
	if !m.privileged() {
		return needsRoot("mdmclient")
	}
	s, err := m.securityInfo(ctx)
	switch {
	case err != nil:
		return audit.Unread("mdmclient", err)
	case s.RemoteDesktop == nil:
		return audit.Unseen("mdmclient does not say")
	case *s.RemoteDesktop:
		return audit.Warned("On", "If nobody needs it: sudo /System/Library/CoreServices/RemoteManagement/ARDAgent.app/Contents/Resources/kickstart -deactivate -stop", "mdmclient QuerySecurityInfo: RemoteDesktopEnabled = 1")
	default:
		return audit.Passed("Off")
	}
}

func sharedPrinters(ctx context.Context, m *machine) audit.Finding {
	r, err := m.run(ctx, "/usr/sbin/cupsctl")
	if err != nil {
		return audit.Unread("cupsctl", err)
	}
	on, err := parsePrinters(r.Stdout)
	switch {
	case err != nil:
		return audit.Unread("cupsctl", err)
	case on:
		return audit.Warned("On", "sudo cupsctl --no-share-printers", "cupsctl: _share_printers=1")
	default:
		return audit.Passed("Off")
	}
}

func internetSharing(_ context.Context, m *machine) audit.Finding {
	const domain = "SystemConfiguration/com.apple.nat"
	d, err := m.prefs(domain)
	if err != nil {
		return audit.Unread(domain, err)
	}
	nat, set := d.Dict("NAT")
	on, known := nat.Bool("Enabled")
	switch {
	case !d.Set():
		return audit.Passed("Was never set up")
	case !set || !known:
		return audit.Unseen("com.apple.nat does not say")
	case on:
		return audit.Warned("On", "Switch it off in System Settings, General, Sharing.", audit.At(d.Where("NAT"), 0, "NAT Enabled is on"))
	default:
		return audit.Passed("Off")
	}
}

func bluetoothSharing(_ context.Context, m *machine) audit.Finding {
	people, err := m.accounts()
	if err != nil {
		return audit.Unread("/Users", err)
	}
	const key = "PrefKeyServicesEnabled"
	seen, on, unread := 0, []string(nil), error(nil)
	for _, p := range people {
		files, err := m.byHost(p, "com.apple.Bluetooth.")
		if err != nil && !hostfile.Missing(err) {
			unread = err
		}
		for _, file := range files {
			d, err := m.readByHost(p, file)
			if err != nil {
				unread = err
				continue
			}
			if is, set := d.Bool(key); set {
				seen++
				if is {
					on = append(on, audit.At(d.Where(key), 0, key+" is on"))
				}
			}
		}
	}
	switch {
	case len(on) > 0:
		return audit.Warned("On", "Switch it off in System Settings, General, Sharing, as that user.", on...)
	case unread != nil:
		return audit.Unread("preferences of users", unread)
	case seen == 0:
		return audit.Unseen(key + " is not set; the default of this release holds")
	default:
		return audit.Passed("Off")
	}
}
