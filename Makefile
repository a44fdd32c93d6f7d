# Everything a contributor or a machine does starts here. `make help` lists it.

GO       ?= go
# An unpacked release has the programs in place of their sources.
SOURCES  := $(wildcard cmd internal platform)
BIN      := $(if $(SOURCES),bin,.)
# What is supported: "make cross" builds the programs for each, and a test checks the types of what is here.
SYSTEMS  := linux/amd64 linux/arm64 linux/arm linux/riscv64 darwin/amd64 darwin/arm64
PROGRAMS := sentinel sentinel-mcp sentinel-guard
BINARIES := $(addprefix $(BIN)/,$(PROGRAMS))
VERSION  := $(if $(SOURCES),$(shell sed -n 's/^const Number = "\(.*\)"/\1/p' internal/version/version.go))
NFPM     := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 15s
GOTEST   ?= $(GO) test
OUT      ?= testdata/macs/recorded

export CGO_ENABLED ?= 0
# The same for programs and tests, or each package would be compiled for both, and last, so that it holds. The
# client of the webhook speaks HTTP/1.1 alone; without HTTP/2 a run takes 0.7 MB less.
FLAGS := -trimpath -buildvcs=false -tags=nethttpomithttp2 -ldflags=-s
override export GOFLAGS := $(filter-out $(FLAGS),$(GOFLAGS)) $(FLAGS)

.PHONY: all toolchain run build test test-packages test-machines test-modules slowest test-mac record-darwin race soak lint bench cross generate golden fuzz clients install uninstall package dist archive mcpb clean help

all: build

# The Go that go.mod asks for, without its last number.
GO_NEEDED := $(if $(SOURCES),$(shell sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod))

# Go before 1.21 cannot read go.mod, and later ones fetch the Go that it names only where they may: both
# say so in words that tell nobody what to do.
define NEED_GO
@found=$$($(GO) env GOVERSION 2>&1 | tail -n 1); \
command -v $(firstword $(GO)) >/dev/null || found=none; \
echo "$$found" | awk -v needed=$(GO_NEEDED) '{ split(needed, n, "."); recent = match($$0, /^(devel )?go[0-9]+\.[0-9]+/); split(substr($$0, 1, RLENGTH), is, /[^0-9]+/) } \
	END { exit !(recent && (is[2] + 0 > n[1] + 0 || is[2] + 0 == n[1] + 0 && is[3] + 0 >= n[2] + 0)) }' || { \
	echo "Building Sentinel needs Go $(GO_NEEDED) or later, and here is $$found: unpack the archive for this machine from https://go.dev/dl/ into a FOLDER, then run: make GO=FOLDER/go/bin/go" >&2; exit 1; }
endef

toolchain:
	$(if $(SOURCES),$(NEED_GO),@echo "This is a release: its programs are built already and need nothing but: sudo make install" >&2; exit 1)

build run test test-mac record-darwin race soak lint bench cross generate golden fuzz package dist archive mcpb: toolchain

## run: build the binaries, show this machine's health, ask the same through MCP, then have the guard judge a call
run: build
	@if [ -t 1 ]; then $(BIN)/sentinel; else NO_COLOR=1 script -qec '$(BIN)/sentinel --no-pager' /dev/null </dev/null | tr -d '\r'; fi
	@echo
	@echo "The same question to sentinel-mcp, as an MCP client sends it:"
	@echo '$(ASK)'
	@echo '$(ASK)' | $(BIN)/sentinel-mcp | cut -c 1-600
	@echo
	@echo "A call to some other server, as sentinel-guard judges it by the preset for servers of files:"
	@echo 'files:read_text_file $(CALL)'
	@home=$$(mktemp -d) && trap 'rm -r "$$home"' EXIT && unset MCP_POLICY_FILE XDG_CONFIG_HOME && export HOME=$$home && \
		$(BIN)/sentinel-guard policy init --preset filesystem >/dev/null && $(BIN)/sentinel-guard policy explain files:read_text_file --arguments '$(CALL)' | head -n 3

CALL := {"path":"../../.ssh/id_ed25519"}
ASK := {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_system_health","arguments":{}}}

## build: the binaries, into bin/
build:
	for program in $(PROGRAMS); do $(GO) build -o $(BIN)/$$program ./cmd/$$program || exit 1; done

## test: every test, whatever failed before; what the machine lacks is skipped with the reason, or fails with SENTINEL_REQUIRE_ALL=1
test:
	@failed=0; \
	$(MAKE) --no-print-directory test-packages || failed=1; \
	$(MAKE) --no-print-directory -k -j 2 test-machines test-modules || failed=1; \
	exit $$failed

# What waits longest goes first, with what computes longest beside it, and beside tests that boot a machine, of
# which one runs at a time, go others. Tests run make themselves, with no flags of this one.
test-packages:
	MAKEFLAGS= $(GOTEST) -p 3 -timeout 20m ./test/clients ./platform/linux/firewall $$($(GO) list ./... | grep -v /test/)

test-machines:
	MAKEFLAGS= $(GOTEST) -p 2 -timeout 20m ./test/remedy ./test/guard ./test/docs ./test/know ./test/truth ./test/install $$($(GO) list ./test/... | grep -v /test/clients)

test-modules:
	failed=0; for module in interop interop/old otlp; do (cd test/$$module && $(GOTEST) ./...) || failed=1; done; exit $$failed

# Which tests of RECORDS, a folder with the events of "go test -json", took longest, and why they may.
slowest:
	@$(GO) run ./test/slowest "$(RECORDS)"

## test-mac: the tests that make sense on a Mac, for real; SENTINEL_MAC_WRITES=yes as root lets them change it
test-mac:
	$(GO) test ./cmd/... ./internal/... ./platform/darwin/...
	$(GO) test -v ./test/mac

## record-darwin: record what the programs of this Mac print, scrubbed, into OUT
record-darwin:
	$(GO) run ./test/record -out "$(OUT)"

## race: every test with the race detector (needs a C compiler)
race:
	CGO_ENABLED=1 $(GO) test -race ./internal/... ./platform/...

## soak: what takes many minutes: runs killed at thousands of moments, hundreds of processes with thousands of connections, millions of files (needs root)
soak:
	$(GO) test -tags soak,nethttpomithttp2 ./test/hostile
	$(GO) test -tags soak,nethttpomithttp2 -timeout 1h -run 'KeepsTheContract|TestBlocksKilledAtRandomMoments' ./platform/linux/blocklist ./test/remedy
	$(GO) test -tags soak,nethttpomithttp2 -run 'TestTheRecordOutlivesEveryDeath|TestAFloodOnStderr|TestAClientThatStopsReading' ./cmd/sentinel-guard

## lint: formatting, vet for both systems, golangci-lint
lint:
	@test -z "$$(gofmt -l cmd examples internal packaging platform test *.go)" || { gofmt -l cmd examples internal packaging platform test *.go; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(LINT) run ./...

## bench: speed and size against named peers, as ratios in one run
bench:
	$(GO) run ./test/bench
	$(GO) test -tags bench,nethttpomithttp2 -run NoSlower -v ./platform/linux/services

## cross: build for every system and architecture that is supported
cross:
	@for target in $(SYSTEMS); do \
		echo $$target; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null $(PROGRAMS:%=./cmd/%) || exit 1; \
	done

## generate: write the schemas, pages, manual page and default configuration that follow from tables and types
generate:
	$(GO) generate ./internal/...

## golden: rewrite the golden files of tests
golden:
	@test -z "$$CI" || { echo "golden files are not rewritten in CI"; exit 1; }
	$(GO) test ./internal/cli ./internal/gen ./internal/userdb ./internal/mcpserver ./packaging/mcpb ./platform/darwin/audit ./platform/linux/audit ./platform/linux/assets ./platform/linux/updates ./platform/linux/health -update

## fuzz: each fuzz target for FUZZTIME (15s)
fuzz:
	@for package in $$($(GO) list ./internal/... ./platform/...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

PREFIX     ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR    ?= $(if $(filter /usr /usr/local,$(PREFIX)),$(PREFIX)/lib,$(SYSCONFDIR))/systemd/system
SHARE       = $(DESTDIR)$(PREFIX)/share
RULES       = $(DESTDIR)$(SYSCONFDIR)/sudoers.d
AT_PREFIX   = umask 022 && sed 's|/usr/local/bin|$(PREFIX)/bin|g'
PAGES      := README.md CHANGELOG.md LICENSE SECURITY.md CONTRIBUTING.md
EMPTY       = $(SHARE)/bash-completion/completions $(SHARE)/bash-completion $(SHARE)/zsh/site-functions $(SHARE)/zsh $(SHARE)/fish/vendor_completions.d $(SHARE)/fish
OWN_PREFIX  = $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/man $(SHARE)/doc $(SHARE) $(DESTDIR)$(PREFIX)

# What "make install" builds when it was not built before, or from other sources:
# through sudo there is often no Go.
ifneq ($(SOURCES),)
$(BINARIES): $(shell find $(SOURCES) -type f ! -name '*_test.go') go.mod go.sum
	$(NEED_GO)
	$(GO) build -o $@ ./cmd/$(@F)
endif

install uninstall: export FOLDERS = $(DESTDIR):$(PREFIX):$(SYSCONFDIR):$(UNITDIR)

# The folders come into commands, units and rules of sudo as they are.
CHECKED = case "$$FOLDERS" in *[!A-Za-z0-9/:._+-]* | *:[!/]* | *::* | *:) \
	echo "PREFIX, SYSCONFDIR and UNITDIR begin with /, and they and DESTDIR have only letters, digits and / . _ + - in them" >&2; exit 1 ;; esac

ifeq ($(shell uname -s)$(DESTDIR),Darwin)
install: $(BINARIES)
	sh packaging/macos/install.sh

uninstall:
	for share in /opt/sentinel/share/sentinel /usr/local/share/sentinel $(PREFIX)/share/sentinel; do \
		[ -e $$share/uninstall.sh ] || continue; \
		sh packaging/scripts/rootonly.sh $$share && exec sh $$share/uninstall.sh; exit 1; \
	done
else
## install: the programs with man pages, completions, units, rules of sudo and configuration, below DESTDIR and PREFIX (/usr/local)
install: $(BINARIES)
	@$(CHECKED)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || sh packaging/scripts/rootonly.sh $(OWN_PREFIX) $(EMPTY) $(UNITDIR) $(SYSCONFDIR)/sudoers.d $(SYSCONFDIR)/sentinel
	install -d $(DESTDIR)$(PREFIX)/bin $(SHARE)/man/man1 $(SHARE)/doc/sentinel $(DESTDIR)$(UNITDIR)
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d $(SHARE)/sentinel
	[ -d $(RULES) ] || install -d -m 750 $(RULES)
	install -d $(DESTDIR)$(SYSCONFDIR)/sentinel $(DESTDIR)$(SYSCONFDIR)/sentinel/config.d
	install -d -m 700 $(DESTDIR)$(SYSCONFDIR)/sentinel/secrets
	install -m 755 $(BINARIES) $(DESTDIR)$(PREFIX)/bin
	install -m 644 docs/man/*.1 $(SHARE)/man/man1
	install -m 644 $(PAGES) $(SHARE)/doc/sentinel
	for folder in docs docs/img docs/schemas docs/decisions packaging/prometheus; do \
		install -d $(SHARE)/doc/sentinel/$$folder && find $$folder -maxdepth 1 -type f -exec install -m 644 {} $(SHARE)/doc/sentinel/$$folder \; || exit 1; \
	done
	umask 022 && for program in $(PROGRAMS); do \
		print=--completion && if [ $$program = sentinel-guard ]; then print=completion; fi && \
		$(HOST_BIN)/$$program $$print bash > $(SHARE)/bash-completion/completions/$$program && \
		$(HOST_BIN)/$$program $$print zsh > $(SHARE)/zsh/site-functions/_$$program && \
		$(HOST_BIN)/$$program $$print fish > $(SHARE)/fish/vendor_completions.d/$$program.fish || exit 1; \
	done
	for unit in packaging/systemd/*; do $(AT_PREFIX) $$unit > $(DESTDIR)$(UNITDIR)/$${unit##*/} && chmod 644 $(DESTDIR)$(UNITDIR)/$${unit##*/} || exit 1; done
	$(AT_PREFIX) packaging/sudoers.d/sentinel > $(SHARE)/sentinel/sudoers && chmod 440 $(SHARE)/sentinel/sudoers
	$(AT_PREFIX) packaging/sudoers.d/sentinel > $(RULES)/.sentinel.new
	chmod 440 $(RULES)/.sentinel.new
	@if [ ! -e $(RULES)/sentinel ]; then mv $(RULES)/.sentinel.new $(RULES)/sentinel; else \
		cmp -s $(RULES)/.sentinel.new $(RULES)/sentinel || echo "$(RULES)/sentinel differs from the rules of this version and stays as it is; compare it with $(PREFIX)/share/sentinel/sudoers" >&2; \
		rm -f $(RULES)/.sentinel.new; \
	fi
	test -e $(DESTDIR)$(SYSCONFDIR)/sentinel/config.yaml || install -m 644 packaging/config.yaml $(DESTDIR)$(SYSCONFDIR)/sentinel/config.yaml

## uninstall: remove what install put there; lists, journal, secrets and a configuration that was changed stay
uninstall:
	@$(CHECKED)
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || SENTINEL=$(PREFIX)/bin/sentinel sh packaging/scripts/preremove.sh remove
	for program in $(PROGRAMS); do rm -f $(DESTDIR)$(PREFIX)/bin/$$program $(SHARE)/man/man1/$$program.1 $(SHARE)/bash-completion/completions/$$program $(SHARE)/zsh/site-functions/_$$program $(SHARE)/fish/vendor_completions.d/$$program.fish; done
	rm -f $(patsubst packaging/systemd/%,$(DESTDIR)$(UNITDIR)/%,$(wildcard packaging/systemd/*)) $(RULES)/sentinel
	rm -rf $(SHARE)/doc/sentinel $(SHARE)/sentinel
	! cmp -s packaging/config.yaml $(DESTDIR)$(SYSCONFDIR)/sentinel/config.yaml || rm -f $(DESTDIR)$(SYSCONFDIR)/sentinel/config.yaml
	rmdir $(DESTDIR)$(SYSCONFDIR)/sentinel/secrets $(DESTDIR)$(SYSCONFDIR)/sentinel/config.d $(DESTDIR)$(SYSCONFDIR)/sentinel $(EMPTY) 2>/dev/null || true
	case $(PREFIX) in /usr | /usr/local) ;; *) rmdir $(OWN_PREFIX) 2>/dev/null || true ;; esac
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || sh packaging/scripts/postremove.sh 0
endif

DIST  := dist
ARCH  ?= $(shell $(GO) env GOARCH)
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)

# The programs of this machine, which write the completions when another is built for.
HOST_BIN ?= $(BIN)

## package: a .deb and an .rpm of ARCH (this machine's, amd64, arm64) into dist/
package:
	rm -rf $(DIST)/stage
	$(MAKE) build BIN=$(DIST)/host
	GOOS=linux GOARCH=$(ARCH) $(MAKE) build install BIN=$(DIST)/linux-$(ARCH) HOST_BIN=$(DIST)/host DESTDIR=$(DIST)/stage PREFIX=/usr UNITDIR=/usr/lib/systemd/system
	for kind in deb rpm; do \
		ARCH=$(ARCH) VERSION=$(VERSION) SOURCE_DATE_EPOCH=$(EPOCH) $(RUN_NFPM) package --config packaging/nfpm.yaml --packager $$kind --target $(DIST)/ || exit 1; \
	done
	rm -rf $(DIST)/stage

RUN_NFPM ?= $(GO) run $(NFPM)

## dist: everything of a release: packages and archives for Linux and macOS, both architectures, with checksums
dist:
	rm -rf $(DIST)
	$(MAKE) package ARCH=amd64
	$(MAKE) package ARCH=arm64
	for target in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do $(MAKE) archive TARGET=$$target || exit 1; done
	$(MAKE) mcpb
	rm -rf $(DIST)/*/
	cd $(DIST) && export LC_ALL=C && sha256sum * > SHA256SUMS

TARGET  ?= $(shell $(GO) env GOOS)-$(ARCH)
UNPACKED = sentinel-$(VERSION)-$(TARGET)

## archive: the programs for TARGET (this machine's, linux-arm64, darwin-amd64 ...) with what "make install" needs, into dist/
archive:
	GOOS=$(firstword $(subst -, ,$(TARGET))) GOARCH=$(lastword $(subst -, ,$(TARGET))) $(MAKE) build BIN=$(DIST)/$(UNPACKED)
	cp -r Makefile $(PAGES) docs packaging $(DIST)/$(UNPACKED)/ && rm $(DIST)/$(UNPACKED)/packaging/*/*.go
	tar -C $(DIST) --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w --mtime=@$(EPOCH) -cf - $(UNPACKED) | gzip -9n > $(DIST)/$(UNPACKED).tar.gz
	rm -rf $(DIST)/$(UNPACKED)

## mcpb: bundles for one-click installation in Claude Desktop, for macOS and Linux, into dist/
mcpb:
	for target in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do \
		GOOS=$${target%-*} GOARCH=$${target#*-} $(MAKE) build BIN=$(DIST)/mcpb/$$target PROGRAMS='sentinel sentinel-mcp' || exit 1; \
	done
	$(GO) run ./packaging/mcpb $(DIST)/mcpb $(DIST)
	rm -rf $(DIST)/mcpb

## clean: remove what was built
clean:
	rm -rf $(BIN) $(DIST)

## help: list the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
