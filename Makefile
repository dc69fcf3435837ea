# make help lists the targets.
SHELL := bash
GO ?= go
BIN := $(CURDIR)/.bin
GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)
GOLANGCI_VERSION := v2.15.0
STATICCHECK_VERSION := v0.8.2

.PHONY: help build test test-corpus lint bench golden corpus conformance docs docs-check fuzz live e2e e2e-test

help: ## List the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

build: ## Build ./olmgen and ./olmgen-validate, and print their sizes
	$(GO) build -trimpath -ldflags '-s -w' -o . ./cmd/...
	@ls -l olmgen olmgen-validate | awk '{ printf "%s: %.1f MB\n", $$NF, $$5 / 1000000 }'

test: ## Run all tests with the race detector; OLMGEN_CORPUS and OLMGEN_ORACLE add real bundles and clusters
	$(GO) test -race -timeout 50m ./...
	cd e2e/helm && $(GO) test -short -timeout 50m ./...

test-corpus: ## Run all tests with $$OLMGEN_CORPUS and $$OLMGEN_ORACLE, without the race detector but for every tenth bundle
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	$(GO) test -timeout 50m ./...
	$(GO) test -race -short -timeout 50m ./golden -run 'TestCorpus$$'

lint: $(BIN)/golangci-lint-$(GOLANGCI_VERSION) ## Run gofmt, go mod tidy, go vet, staticcheck and golangci-lint
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "not gofmt'd: $$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION) ./...
	$(BIN)/golangci-lint-$(GOLANGCI_VERSION) run ./...
	cd e2e/harness && $(GO) vet ./... && $(GO) run honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION) ./...

$(BIN)/golangci-lint-$(GOLANGCI_VERSION):
	mkdir -p $(BIN)
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/golangci-lint $@

bench: ## Run the Go benchmarks, with OLMGEN_CORPUS over the corpus too
	$(GO) test -run '^$$' -bench . -benchmem ./...

golden: ## Write the golden files anew; say in the commit why they change
	$(GO) test ./golden -run TestGolden -update
	$(GO) test ./output -run TestHelmGolden -update
	cd e2e/helm && $(GO) test -run TestGolden -update .

corpus: ## Render every bundle of $$OLMGEN_CORPUS in every mode and print what came out
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	$(GO) test ./golden -run 'Corpus$$' -count=1 -v | grep -v '^=== '
	cd e2e/helm && $(GO) test -run 'Corpus$$' -count=1 -timeout 50m .

conformance: ## Compare with what OLM made in real clusters ($$OLMGEN_CORPUS, $$OLMGEN_ORACLE)
	@test -n "$$OLMGEN_CORPUS" -a -n "$$OLMGEN_ORACLE" || { echo "set OLMGEN_CORPUS and OLMGEN_ORACLE"; exit 1; }
	$(GO) test ./golden ./generate/olmv1 -run TestConformance -count=1 -v | grep -v '^=== '

GENERATED := ./cmd/olmgen ./config ./review/policy -run '^(TestReference|TestSchema|TestSchemaPage|TestPage)$$'
docs: ## Write what is generated: docs/reference, the rules in docs/lint.md, config/schema.json, docs/renderconfig.md
	$(GO) test $(GENERATED) -update

docs-check: ## Fail if any of that is stale
	$(GO) test $(GENERATED) -count=1

FUZZTIME ?= 20s
fuzz: ## Run every fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

live: ## Install bundles with a real OLM and compare with golden/live; UPDATE=1 writes it, CASES=regexp picks (see e2e/README.md)
	e2e/build.sh
	e2e/.bin/harness -run '$(CASES)' $(if $(UPDATE),-update) live

e2e: ## Give what olmgen renders to a real API server; CHECK=name and CASES=regexp pick, SAMPLE=n takes each n-th package of the corpus
	e2e/build.sh
	e2e/.bin/harness -run '$(CASES)' -sample $(or $(SAMPLE),1) e2e $(CHECK)

e2e-test: ## Test the harness: killed at any moment it leaves nothing behind
	e2e/build.sh
	cd e2e/harness && $(GO) test -count=1 ./...
