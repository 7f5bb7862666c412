# make run     open Toolshed (set-up and both builds included)
# make test    everything that CI checks
# make help    the rest

include build/counts.mk

.PHONY: help setup setup-test page build run generate check unit race page-test window-test e2e test prove bench attack
.DEFAULT_GOAL := build

# Debian's WebKitGTK is 4.1: vet and test need the tag as much as the build does.
export GOFLAGS := -tags=webkit2_41 -trimpath
TEST_FLAGS := -timeout 900s
BUILD := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unversioned)$(shell git status --porcelain 2>/dev/null | grep -q . && echo -changed-$$(git diff HEAD 2>/dev/null | cksum | cut -d' ' -f1))
LINK := -s -w -X main.build=$(BUILD)
GO_FILES := $(shell git ls-files -co --exclude-standard '*.go' 2>/dev/null)
RACY := ./runtime/capnweb ./runtime/host ./runtime/storage ./app/overseer ./app/api ./app/serve ./app

help:
	@sed -n 's/^# make /make /p' Makefile
	@echo "make setup   install what building needs"
	@echo "make build   build/bin/toolshed and build/bin/toolshed-window"
	@echo "make prove   make test with the full counts of build/counts.mk"
	@echo "make bench   print the benchmarks"
	@echo "make attack  attack the window and the browser mode"
	@echo "make generate  write the page's types from app/api"

setup:
	@build/setup.sh run

setup-test:
	@build/setup.sh test

page: setup
	@cd frontend && npm run --silent build

build: page
	CGO_ENABLED=0 go build -ldflags '$(LINK)' -o build/bin/toolshed .
	CGO_ENABLED=1 go build -tags desktop,production,webkit2_41 -ldflags '$(LINK)' -o build/bin/toolshed-window .

run: build
	@build/bin/toolshed

generate:
	go test ./app/api -run TestThePagesTypes -update

check:
	@test -z "$$(gofmt -l $(GO_FILES))" || { echo "gofmt would change:"; gofmt -l $(GO_FILES); exit 1; }
	go vet ./...
	go vet -tags desktop,production,webkit2_41 . ./app
	go vet -tags attack ./app/serve
	CGO_ENABLED=0 GOOS=windows go vet . ./app/... ./runtime/... ./frontend
	CGO_ENABLED=0 GOOS=darwin go vet . ./app/... ./runtime/... ./frontend
	cd frontend && npm run --silent check

unit:
	env $(COUNTS) go test $(TEST_FLAGS) ./...
	go test $(TEST_FLAGS) -tags attack ./app/serve -run 'TestE(ach|very)Check'

# The traces that are compared with workerd's hold pauses, which the race detector stretches: they run without it. So do
# the hostile gadgets and the cycles: they are about the child, which is another process, and take minutes each.
race:
	env $(COUNTS) go test -race $(TEST_FLAGS) -skip 'TestSemanticsAsInWorkerd|TestHostileGadgets|TestOpenCloseCycles' $(RACY)

page-test:
	cd frontend && npm test --silent && npm run --silent test:page

e2e:
	cd frontend && node --test --test-concurrency=1 e2e/program.test.mjs e2e/foreign.test.mjs

window-test:
	build/window-test.sh

test: COUNTS := $(COUNTS_test)
test: setup-test build check unit race page-test e2e window-test
	@echo "counts: $(COUNTS_test)"

prove: COUNTS := $(COUNTS_prove)
prove: TEST_FLAGS := -timeout 3h
prove: setup-test build check unit race page-test e2e window-test
	@echo "counts: $(COUNTS_prove)"

bench: build
	@cd build/bench && npm ci --silent --no-audit --no-fund
	build/bin/toolshed bench --modules build/bench/node_modules

attack: setup-test build
	build/window-test.sh attack
