# Everything a contributor or a machine does starts here. `make help` lists it.

GO       ?= go
BIN      := bin
FLAGS    := -trimpath -ldflags '-s -w'
BINARIES := $(BIN)/sentinel $(BIN)/sentinel-mcp
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 15s
OUT      ?= testdata/macs/recorded

export CGO_ENABLED ?= 0

.PHONY: all run build test test-mac record-darwin race lint bench cross golden fuzz clients clean help

all: lint test build

## run: build both binaries, show this machine's health, then ask the same through MCP
run: build
	@if [ -t 1 ]; then $(BIN)/sentinel; else NO_COLOR=1 script -qec $(BIN)/sentinel /dev/null </dev/null | tr -d '\r'; fi
	@echo
	@echo "The same question to sentinel-mcp, as an MCP client sends it:"
	@echo '$(ASK)'
	@echo '$(ASK)' | $(BIN)/sentinel-mcp | cut -c 1-600

ASK := {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_system_health","arguments":{}}}

## build: both binaries, into bin/
build:
	$(GO) build $(FLAGS) -o $(BIN)/sentinel ./cmd/sentinel
	$(GO) build $(FLAGS) -o $(BIN)/sentinel-mcp ./cmd/sentinel-mcp

## test: every test, those that measure one after the other; what the machine lacks is skipped with the reason, or fails with SENTINEL_REQUIRE_ALL=1
test:
	$(GO) test $$($(GO) list ./... | grep -v /test/)
	$(GO) test -p 1 ./test/...
	cd test/interop && $(GO) test ./...

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

## lint: formatting, vet for both systems, golangci-lint
lint:
	@test -z "$$(gofmt -l cmd internal platform test *.go)" || { gofmt -l cmd internal platform test *.go; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(LINT) run ./...

## bench: speed and size against named peers, as ratios in one run
bench:
	$(GO) run ./test/bench

## cross: build for every system and architecture that is supported, and the tests for macOS
cross:
	@for target in linux/amd64 linux/arm64 linux/arm linux/riscv64 darwin/amd64 darwin/arm64; do \
		echo $$target; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build $(FLAGS) -o /dev/null ./cmd/sentinel || exit 1; \
		GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build $(FLAGS) -o /dev/null ./cmd/sentinel-mcp || exit 1; \
	done
	@for arch in arm64 amd64; do \
		echo "tests for darwin/$$arch"; \
		GOOS=darwin GOARCH=$$arch $(GO) vet ./... || exit 1; \
		GOOS=darwin GOARCH=$$arch $(GO) test -vet=off -exec true ./... >/dev/null || exit 1; \
	done

## golden: rewrite the golden files, schemas and generated pages
golden:
	@test -z "$$CI" || { echo "golden files are not rewritten in CI"; exit 1; }
	$(GO) test ./internal/cli ./internal/mcpserver ./platform/linux/audit ./platform/linux/inventory ./platform/linux/packages ./platform/linux/vitals -update

## fuzz: each fuzz target for FUZZTIME (15s)
fuzz:
	@for package in $$($(GO) list ./internal/... ./platform/...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

## clean: remove what was built
clean:
	rm -rf $(BIN)

## help: list the targets
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)
