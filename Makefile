# make help lists the targets.
SHELL := bash
GO ?= go
# Tools are built once and kept by their version. e2e/build.sh keeps what the harness runs in the same directory.
export OLMGEN_TOOLS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/olmgen
BIN := $(OLMGEN_TOOLS)
GOLANGCI_VERSION := v2.15.0
ACTIONLINT_VERSION := v1.7.12
AXE_VERSION := 4.14.1

# Tests without real bundles: the environment does not make them longer.
OFFLINE := OLMGEN_CORPUS= OLMGEN_ORACLE= OLMGEN_OLMV1_CRDS= OLMGEN_CASES=
# go test runs a part of go vet by default; "make lint" runs all of it, once. A quarter of linking is for debuggers.
TEST := $(GO) test -vet=off -ldflags=-w

# installed PACKAGE: a tool is complete once it has its name.
installed = mkdir -p $(BIN) && tmp=$$(mktemp -d $(BIN)/.tool-XXXXXX) && trap 'rm -rf "$$tmp"' EXIT && \
	GOBIN=$$tmp CGO_ENABLED=0 $(GO) install $(1) && mv $$tmp/* $@

# tool NAME: builds a tool of the module tools and starts it here.
tool = $(GO) build -C tools -o $(CURDIR)/.tools/ ./$(1) && .tools/$(1)

.PHONY: help build check form golangci test test-race test-corpus test-growth test-kinds test-edits test-helm test-authorizer test-browser test-renovate test-ci mutants lint lint-e2e bench bench-goals bench-compare golden corpus conformance docs docs-check pictures fuzz fuzz-smoke fuzz-report faults \
	harness rehearse-tools test-rehearse live e2e e2e-test release-files release-notes release-image release-check api apidiff site

help: ## List the targets
	@sed -n 's/[$$][$$]/$$/g; s/^\([a-z0-9-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 18

build: ## Build ./olmgen and the programs beside it, and print their sizes
	$(GO) build -trimpath -ldflags '-s -w' -o . ./cmd/olmgen...
	@ls -l olmgen olmgen-validate olmgen-helm | awk '{ printf "%s: %.1f MB\n", $$NF, $$5 / 1000000 }'

check: ## Before a commit: look at what differs from the Git revision SINCE; print the first fault of each kind
	@SINCE='$(SINCE)' .ci/check

GOLANGCI := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

golangci: $(GOLANGCI)
	@echo $<

form: $(GOLANGCI) ## Check what needs no compiler: gofmt, the length of lines, go mod tidy
	$< fmt --diff
	$< run --enable-only lll ./...
	$(GO) mod tidy -diff

# A sixth of what tests and linking cost was garbage.
test: export GOGC ?= 400
test: ## Run all tests that need nothing but this repository and are not slow; APART=docs leaves out those of "make docs-check"
	@$(GO) build -C tools -o $(CURDIR)/.tools/ ./testlines
	$(OFFLINE) .tools/testlines $(TEST) -timeout 30m $(if $(filter docs,$(APART)),-skip '$(GENERATED_TESTS)') ./...
	cd tools && $(OFFLINE) $(TEST) ./...

RACED ?= ./...
test-race: ## Run these tests with the race detector, RACED="packages" picks, SHORT=1 runs the short ones
	CGO_ENABLED=1 $(OFFLINE) $(TEST) -race $(if $(SHORT),-short) -timeout 30m $(RACED)

test-race-corpus: ## Render every tenth bundle of $$OLMGEN_CORPUS with the race detector
	CGO_ENABLED=1 OLMGEN_CORPUS_EVERY=10 $(TEST) -race -timeout 30m ./golden -run 'TestCorpus$$'

test-corpus: ## Run the tests that take the bundles of $$OLMGEN_CORPUS and the recordings of $$OLMGEN_ORACLE; EVERY=n takes every n-th bundle
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	data=$$($(call tool,data)) && OLMGEN_CORPUS_EVERY=$(EVERY) $(TEST) -timeout 50m $$data

test-growth: ## Double every dimension of inputs: time and allocations may grow with an exponent of 1.4 at most; SHORT=1 measures small inputs, once
	@for part in 1/2 2/2; do \
		(OLMGEN_GROWTH=$$part OLMGEN_GROWTH_SHORT=$(SHORT) $(OFFLINE) $(TEST) -count=1 -timeout 60m -p 1 -run '^TestGrowth$$' ./cmd/olmgen ./cmd/internal/adopt || \
			echo "$$part failed" >&3) & \
	done 3>.growth; wait; failed=$$(cat .growth); rm -f .growth; test -z "$$failed"

test-kinds: ## Measure every command that reads a tree with 4 MB of each kind: at most 20 CPU seconds and 600 MB, and an exponent of 1.4
	OLMGEN_SLOW=1 $(OFFLINE) $(TEST) -count=1 -timeout 40m -run '^TestKinds$$' -v ./cmd/olmgen

EDITS ?= 100000
test-edits: ## Change EDITS fields at random, over $$OLMGEN_CORPUS too: "olmgen diff" is empty if and only if nothing but noise differs
	OLMGEN_EDITS=$(EDITS) $(TEST) -timeout 120m ./internal/compare -run '^TestEdits$$' -count=1 -v | grep -v '^=== '

test-helm: ## Test charts with helm's own code, and with $$OLMGEN_CORPUS every tenth package
	cd e2e/helm && OLMGEN_CORPUS_EVERY=10 $(TEST) -timeout 30m .

test-authorizer: ## Compare "olmgen permissions" with the RBAC authorizer of Kubernetes, over $$OLMGEN_CORPUS
	cd e2e/authorizer && $(TEST) -timeout 30m .

AXE := e2e/.bin/browser/node_modules/axe-core/axe.min.js
test-browser: ## Open the HTML reports in headless Chromium and run axe-core (npm); skipped where there is no chromium
	@test -f $(AXE) || npm install --prefix e2e/.bin/browser --no-audit --no-fund --no-package-lock axe-core@$(AXE_VERSION) || \
		echo "test-browser: axe-core is not there: accessibility is not checked" >&2
	cd e2e/browser && AXE=$$(ls $(CURDIR)/$(AXE) 2>/dev/null) $(TEST) -count=1 -v .

# Later versions need Node.js 22.
RENOVATE_VERSION := 39.264.0
RENOVATE := e2e/.bin/renovate/node_modules/renovate/dist/renovate.js
test-renovate: ## Run the real Renovate (npm) with the files of "olmgen catalog site"; skipped where it cannot be installed
	@test -f $(RENOVATE) || npm install --prefix e2e/.bin/renovate --no-audit --no-fund --no-package-lock --omit=optional \
		--ignore-scripts renovate@$(RENOVATE_VERSION) >/dev/null || echo "test-renovate: Renovate cannot be installed: nothing is tested" >&2
	RENOVATE=$$(ls $(CURDIR)/$(RENOVATE) 2>/dev/null) $(TEST) -count=1 -v ./cmd/olmgen -run '^TestRenovate$$'

test-ci: ## Test .ci/run with stages that do nothing
	.ci/test

MUTATED := internal/rbac internal/olm catalog/resolve cmd/internal/adopt
mutants: ## Change conditions, bounds and results of the resolver, RBAC, OLM and adopt one by one; list the changes that no test notices (SINCE=revision: in lines that differ, ONLY=text, AGAIN=file, MUTATED=directories)
	$(call tool,mutants) -since '$(SINCE)' -only '$(ONLY)' -again '$(AGAIN)' $(MUTATED)

lint: $(GOLANGCI) $(BIN)/actionlint-$(ACTIONLINT_VERSION) ## Run actionlint on the workflows, and golangci-lint: gofmt, go vet, staticcheck and what .golangci.yml lists
	$(BIN)/actionlint-$(ACTIONLINT_VERSION)
	$< run ./...

# Modules that have Go code of their own. docs/site has none.
MODULES := $(patsubst %/go.mod,%,$(shell find cmd e2e tools -name go.mod))
lint-e2e: $(GOLANGCI) ## Run golangci-lint in each module below e2e, in tools and in cmd/olmgen-rehearse
	@for dir in $(MODULES); do \
		! compgen -G "$$dir/*.go" >/dev/null || (echo $$dir && cd $$dir && $< run ./...) || exit 1; \
	done

$(GOLANGCI):
	$(call installed,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION))

BENCH_COUNT ?= 3
# How many times as much CPU time, memory and size there may be as before: see .ci/bench-compare.
SLOWER ?= 1.08
BENCH_RUNS ?= 9
bench: ## Render the bundles of $$OLMGEN_CORPUS (bundles and MB per second, CPU, memory, growth, the ratio to sigs.k8s.io/yaml); read a catalog of 500 MB; render one and forty operators of a catalog; print the goals of whole jobs
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	$(GO) test ./generate -run '^$$' -bench 'Corpus$$' -benchtime 1x -timeout 30m
	$(GO) test ./catalog -run '^$$' -bench LargeCatalog -benchtime 1x -timeout 30m
	$(GO) test ./config -run '^$$' -bench Catalog -benchtime 3x -timeout 30m
	@$(MAKE) --no-print-directory bench-goals

bench-goals: ## Print what whole jobs cost in relation to rendering: the last part of "make bench" (ONLY=regexp: some of them)
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	$(GO) test ./cmd/internal/goals -count=1 -timeout 2h -run Goals -v -args -runs $(BENCH_RUNS) -only '$(ONLY)'

bench-compare: ## Compare what rendering, a start and memory cost with SINCE, a Git revision, in BENCH_COUNT rounds; fail if it is more than SLOWER
	SINCE='$(SINCE)' SLOWER='$(SLOWER)' .ci/bench-compare $(BENCH_COUNT)

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

GENERATED_TESTS := ^(TestReference|TestStatements|TestSchema|TestSchemaFiles|TestSchemaPage|TestPage|TestNoisePage|TestKubeTypes|TestPicture|TestConfigSchema)$$
GENERATED := ./cmd/olmgen ./config ./internal/compare ./internal/compare/crds ./internal/compare/history ./cmd/internal/adopt ./cmd/internal/rules/policy ./internal/permissions ./internal/predict ./templates ./internal/fit ./internal/olm/versions ./internal/house -run '$(GENERATED_TESTS)'
docs: ## Write what is generated: docs/reference, config/schema.json, docs/reference/renderconfig.md
	$(GO) test $(GENERATED) -update

pictures: ## Write docs/pictures from $$OLMGEN_CORPUS; site.png with chromium, where its page says something else
	@test -n "$$OLMGEN_CORPUS" || { echo "set OLMGEN_CORPUS to the directory that holds bundles/"; exit 1; }
	CHROMIUM=$$(command -v chromium || command -v chromium-browser) $(GO) test ./cmd/olmgen -run '^TestPictures?$$' -update

docs-check: ## Fail if any of that is stale
	$(TEST) $(GENERATED)

FUZZTIME ?= 20s
FUZZJOBS ?= 1
FUZZJOB ?= 1
# Before Go 1.27 a target may end with "context deadline exceeded" though no input failed: go.dev/issue/75804.
# A new input is made smaller for up to 60 seconds without -fuzzminimizetime: most of the time would go into that.
fuzz: ## Run every fuzz target for FUZZTIME; with FUZZJOBS=3 FUZZJOB=1 every third, beginning with the first
	@tmp=$$(mktemp -d); trap 'rm -rf $$tmp' EXIT; cache=$$($(GO) env GOCACHE)/fuzz/olmgen; n=0; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		$(GO) test -vet=off -c -fuzz . -o $$tmp/fuzz.test $$dir || exit 1; \
		for f in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\)(.*/\1/p' $$dir/*_test.go); do \
			n=$$((n + 1)); [ $$((n % $(FUZZJOBS))) = $$(($(FUZZJOB) % $(FUZZJOBS))) ] || continue; \
			echo "$$dir $$f"; \
			(cd $$dir && $$tmp/fuzz.test -test.run '^$$' -test.fuzz "^$$f\$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 100ms \
				-test.fuzzcachedir $$cache/$$dir) >$$tmp/out 2>&1; code=$$?; cat $$tmp/out; \
			[ $$code = 0 ] || { tail -n 2 $$tmp/out | head -n 1 | grep -qx '    context deadline exceeded' && \
				! grep -q 'Failing input' $$tmp/out && echo "$$f: no fault: go.dev/issue/75804"; } || exit 1; \
		done; \
	done

fuzz-smoke: ## Run every fuzz target for a second, and read hostile inputs of 1 MB within the limit of time
	@$(MAKE) --no-print-directory fuzz FUZZTIME=1s
	OLMGEN_SLOW=1 OLMGEN_LIMIT_CPU=1 $(TEST) -count=1 -run '^TestHostile(YAML|Objects|Archives)$$' ./cmd/olmgen

fuzz-report: ## Run the fuzz targets on the inputs that "make fuzz" has found, and print the table of docs/reference/fuzzing.md
	@.ci/fuzz-report

FAULTS ?= 3
faults: ## Put faults at every third system call that writes (FAULTS=1: every one), and test sandbox, signals, hostile text and inputs over a limit; needs strace
	OLMGEN_SLOW=1 OLMGEN_FAULTS=$(FAULTS) $(TEST) -count=1 -timeout 30m -run '^(TestFaultAtEveryWrite|TestSandbox|TestInjection|TestHostileBudgets|TestSignals)$$' ./cmd/olmgen

HUGO_VERSION := v0.152.2

HTMLTEST := $(BIN)/htmltest-$(lastword $(shell grep -o 'wjdp/htmltest v[0-9.]*' docs/site/go.mod))

site: $(BIN)/hugo-$(HUGO_VERSION) $(HTMLTEST) ## Build the documentation site into .site/public, and check its links
	theme=$$(cd docs/site && $(GO) mod download -json github.com/imfing/hextra | sed -n 's/^.*"Dir": "\(.*\)",$$/\1/p') && cd docs/site && \
		$< --quiet --themesDir "$${theme%/*}" --theme "$${theme##*/}" --destination $(CURDIR)/.site/public --cleanDestinationDir
	$(HTMLTEST) --conf docs/site/htmltest.yml .site/public

$(BIN)/hugo-$(HUGO_VERSION):
	$(call installed,github.com/gohugoio/hugo@$(HUGO_VERSION))

$(HTMLTEST):
	mkdir -p $(BIN)
	cd docs/site && $(GO) build -o $@ github.com/wjdp/htmltest

GORELEASER_VERSION := v2.16.0

release-files: ## Write the manual pages and shell completions that release archives have
	mkdir -p .release/man .release/completions
	$(GO) test ./cmd/olmgen -run '^TestManual$$' -count=1 -args -man $(CURDIR)/.release/man
	$(GO) run ./cmd/olmgen completion bash > .release/completions/olmgen.bash
	$(GO) run ./cmd/olmgen completion zsh > .release/completions/_olmgen
	$(GO) run ./cmd/olmgen completion fish > .release/completions/olmgen.fish

release-notes: ## Print the section of CHANGELOG.md about VERSION
	@awk -v title="## $(VERSION)" '/^## / { found = index($$0, title) == 1 } found && !/^## / { print; n++ } END { exit n == 0 }' CHANGELOG.md

CRANE_VERSION := v0.21.7
IMAGE ?= ghcr.io/olmgen/olmgen
release-image: $(BIN)/crane-$(CRANE_VERSION) ## Push the image of VERSION to IMAGE, with the binaries that goreleaser has built, and print it by digest
	@e2e/image.sh $< dist $(IMAGE) $(VERSION) latest

$(BIN)/crane-$(CRANE_VERSION):
	@$(call installed,github.com/google/go-containerregistry/cmd/crane@$(CRANE_VERSION))

release-check: $(BIN)/goreleaser-$(GORELEASER_VERSION) ## Check the release: its configuration, what the pages say of it, equal bytes of two builds
	$< check
	e2e/release.sh $<

$(BIN)/goreleaser-$(GORELEASER_VERSION):
	$(call installed,github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION))

$(BIN)/actionlint-$(ACTIONLINT_VERSION):
	$(call installed,github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION))

APIDIFF_VERSION := v0.0.0-20260410095643-746e56fc9e2f

api: ## Write internal/house/testdata/api.txt, the Go API of a release that the next one is compared with
	$(GO) test ./internal/house -run '^TestIncompatibleChangesAreNamed$$' -args -update

apidiff: $(BIN)/apidiff-$(APIDIFF_VERSION) ## Print how the Go API differs from the git revision REV
	e2e/apidiff.sh $< $(or $(REV),main)

$(BIN)/apidiff-$(APIDIFF_VERSION):
	$(call installed,golang.org/x/exp/cmd/apidiff@$(APIDIFF_VERSION))

# Programs that stand beside olmgen in a cluster or a pipeline; WITH picks some.
NEIGHBOURS := $(patsubst e2e/neighbours/%/build.sh,%,$(wildcard e2e/neighbours/*/build.sh))

harness: ## Build the API server, OLM and the harness that "make live" and "make e2e" run (see e2e/README.md)
	e2e/build.sh harness $(if $(filter neighbours,$(CHECK)),$(or $(WITH),$(NEIGHBOURS)),$(WITH))

REHEARSE := etcd kube-apiserver kube-controller-manager olm catalog
rehearse-tools: ## Build what olmgen-rehearse runs, once: it takes 16 CPU minutes; WITH=olmv1 has OLM v1, too
	@test -e $(BIN)/rehearse/catalog || echo "rehearse-tools: this takes 16 CPU minutes if nothing is built yet" >&2
	@$(MAKE) --no-print-directory harness CHECK=
	mkdir -p $(BIN)/rehearse
	for name in $(REHEARSE) $(filter olmv1,$(WITH)); do ln -sfn "$$(readlink -f e2e/.bin/$$name)" $(BIN)/rehearse/$$name; done
	cd cmd/olmgen-rehearse && $(GO) build -trimpath -o ../../e2e/.bin/ .

test-rehearse: rehearse-tools ## Test olmgen-rehearse; PLAYS=1 plays the recordings of $$OLMGEN_ORACLE again
	cd cmd/olmgen-rehearse && $(if $(PLAYS),,$(OFFLINE)) $(TEST) -count=1 -timeout 60m ./...

live: harness ## Install bundles with a real OLM and compare with golden/live; UPDATE=1 writes it, CASES=regexp picks
	e2e/.bin/harness -run '$(CASES)' $(if $(UPDATE),-update) live

# The checks of "make e2e". All but resolve and pin need a cluster.
CHECKS := $(or $(CHECK),dry-run apply upgrade access crs adopt refused admission writes pinned used $(if $(CASES),,resolve pin))
CLUSTER_CHECKS := $(filter-out resolve pin,$(CHECKS))

e2e: $(if $(CLUSTER_CHECKS),harness) ## Apply what olmgen renders to a real API server, and ask OLM's resolver; CHECK=name, CASES=regexp, SAMPLE=n pick
	$(if $(CLUSTER_CHECKS),e2e/.bin/harness -run '$(CASES)' -sample $(or $(SAMPLE),1) $(if $(UPDATE),-update) -with '$(WITH)' e2e $(CLUSTER_CHECKS))
	$(if $(filter resolve pin,$(CHECKS)),e2e/build.sh resolver)
	$(if $(filter resolve,$(CHECKS)),e2e/.bin/resolver -seed $(or $(SEED),1) -cases $(or $(CASES),100) random)
	$(if $(filter resolve,$(CHECKS)),e2e/.bin/resolver -seed $(or $(SEED),1) -cases $(or $(CASES),100) mutants)
	$(if $(filter pin,$(CHECKS)),e2e/.bin/resolver -seed $(or $(SEED),1) -cases $(or $(CASES),100) -runs 5 -more-runs 5 pin)
	$(if $(filter pin,$(CHECKS)),$(if $(OLMGEN_ORACLE),e2e/.bin/resolver -runs 5 -more-runs 5 pin $(OLMGEN_ORACLE)/resolver/cases))

e2e-test: harness ## Test the harness: killed at any moment it leaves nothing behind
	cd e2e/harness && $(TEST) -count=1 ./...
