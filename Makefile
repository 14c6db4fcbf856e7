# One profile and one target folder for run, test and bench; the C++ engine is compiled once a machine and linked from scripts/env's folder.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/trine/target
export ROCKSDB_STATIC := 1
export ROCKSDB_LIB_DIR ?= $(shell . scripts/env && echo $$ROCKSDB_LIB_DIR)
export TRINE_GIT_HASH := $(shell . scripts/env && echo $$TRINE_GIT_HASH)
export CARGO_TERM_COLOR ?= auto
BIN := $(CARGO_TARGET_DIR)/release/trine

.PHONY: help setup build run test planted-bugs interop drivers lint bench bench-small bin-path

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## Install what building, testing and measuring need (Debian)
	@scripts/setup

# Of the whole workspace, as the tests: with other features of its dependencies everything would be compiled twice.
build: setup ## Build the binary
	cargo build --release --locked --workspace --bins

run: build ## Build and start a server on 127.0.0.1:4000 with its data in ./trine-data
	$(BIN) $(ARGS)

test: setup ## Build and run all tests
	scripts/test

planted-bugs: build ## Take the store's rules away one at a time: its tests must notice
	scripts/planted-bugs $(BUGS)

interop: build ## Run the ecosystem's Rust and Go clients against our processes (the latter need Go)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) scripts/test-interop

drivers: build ## Try the MySQL drivers of other languages on our server, also those that make test leaves out (Java with Maven, Rust)
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR) scripts/test-drivers python go node java rust

lint: setup ## Check formatting, lints, docs, layering and file sizes
	scripts/lint

bench: build ## Measure side by side with MariaDB; writes a report to bench-results (ARGS: flags of `trine bench run`)
	$(BIN) bench run bench/scenarios/embedded-against-mariadb.toml $(ARGS)

bench-small: build ## Run every shipped scenario in its small size, each for minutes; reports lie in bench-results/small
	$(BIN) bench run --all --size small --output bench-results/small $(ARGS)

bin-path: ## Print where the built binary lies
	@echo $(BIN)
