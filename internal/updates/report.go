// SPDX-License-Identifier: Apache-2.0

package updates

import "sentinel/internal/answer"

// A Report answers check_updates. Values that are unknown are absent, and
// Unavailable says why.
type Report struct {
	Info             Info          `json:"info"`                                                    // the short answer
	Manager          string        `json:"manager" enum:"apt,dnf,zypper,pacman,apk,softwareupdate"` // the package manager that was asked
	UpdatesTotal     *int          `json:"updates_total,omitempty"`                                 // before the lists were cut; absent when not known
	SecurityTotal    *int          `json:"security_total,omitempty"`                                // security updates among them, without withheld ones; absent when not known
	SecurityUpdates  []string      `json:"security_updates,omitzero"`                               // packages, or advisories where the manager lists those; without withheld ones; incomplete where unavailable says so; without verbose with versions, as in info.updates, which then does not repeat them
	Packages         []Row         `json:"packages,omitzero" schema:"brief"`                        // security updates first
	Withheld         []WithheldRow `json:"withheld,omitzero" schema:"brief"`                        // newer versions that updating everything would leave out; security updates first
	Held             *int          `json:"held,omitempty"`                                          // held by an administrator of this machine
	Phased           *int          `json:"phased,omitempty"`                                        // rolled out to some machines at a time, and not yet to this one
	KeptBack         *int          `json:"kept_back,omitempty"`                                     // conflicts with what is installed
	WithheldSecurity *int          `json:"withheld_security,omitempty"`                             // security updates among all that is withheld; absent when not known; incomplete where unavailable says so
	Installs         *int          `json:"installs,omitempty"`                                      // packages that updating everything would add
	Removes          *int          `json:"removes,omitempty"`                                       // packages that updating everything would remove
	Truncated        bool          `json:"truncated"`                                               // some list is shorter than its total
	ListAgeSeconds   *int64        `json:"list_age_seconds,omitempty"`                              // since the package lists last changed or were found current
	Busy             *bool         `json:"busy,omitempty"`                                          // another program is using the package manager: the answer may be about to change; absent when unknown
	RebootRequired   *bool         `json:"reboot_required,omitempty"`                               // by updates that are already installed
	RebootReason     string        `json:"reboot_reason,omitempty"`                                 // why, when it is
	Unavailable      answer.Gaps   `json:"unavailable" schema:"brief"`                              // what could not be read, and why
}

// Info is the short form of the answer.
type Info struct {
	UpdatesAvailable *bool    `json:"updates_available,omitempty"` // updating everything would install some, or a security update is withheld; absent when it is not known
	Updates          []string `json:"updates,omitzero"`            // "openssl 3.0.15-1 → 3.0.17-1", in the order of packages; without verbose only those that security_updates does not have
	LastChecked      string   `json:"last_checked,omitempty"`      // when the package lists were refreshed: RFC 3339, UTC
	OSVersion        string   `json:"os_version,omitempty"`        // name and release of the system
}

// A Row is one update.
type Row struct {
	Name      string `json:"name"`                // of the package
	Current   string `json:"current,omitempty"`   // the version that is installed
	Candidate string `json:"candidate,omitempty"` // the version that would be installed
	Security  *bool  `json:"security,omitempty"`  // its candidate comes as a security update
	Origin    string `json:"origin,omitempty"`    // where it comes from
	Label     string `json:"label,omitempty"`     // the manager's own name for it, if that is another
	Restart   *bool  `json:"restart,omitempty"`   // installing it restarts the machine
}

// A WithheldRow is one update that is withheld.
type WithheldRow struct {
	Name      string `json:"name"`                                // of the package
	Current   string `json:"current,omitempty"`                   // the version that is installed
	Candidate string `json:"candidate,omitempty"`                 // the newest version
	Reason    string `json:"reason" enum:"held,phased,kept back"` // why updating everything leaves it out
	Security  *bool  `json:"security,omitempty"`                  // it is a security update
}
