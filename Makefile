# Every check that CI runs is a target here, so that it can be run by hand. `make` alone lists them.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
GO          ?= go
BIN         := bin/goodput-exporter
DCGM_BIN    := bin/goodput-dcgm
COLLECTOR   := bin/otel-collector
FUZZTIME    ?= 10s
DOCKER      ?= docker
PROMTOOL    ?= $(shell command -v promtool)

# Where `make live` installs its engine, outside the tree, and where it leaves what it saw (empty: nowhere).
VLLM_ENV    ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/goodput-exporter/vllm-0.32.0
LIVE_KEEP   ?=

# Where `make cluster` keeps its kube-apiserver and etcd, outside the tree.
KUBE_VERSION := v1.36.3
KUBE         ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/goodput-exporter/kube-$(KUBE_VERSION)

# The page that the exporter's tests compare with, and what promtool may say of it: the series counts layouts of
# histograms, so the word is its subject and not its type.
PAGE        := exporter/testdata/page.prom
LINT_KNOWN  := goodput_histogram_layouts metric name should not include type 'histogram'

# The version that the binary prints and publishes: the nearest tag, or the commit.
VERSION_PKG := github.com/prometheus/common/version
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
REVISION    ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS     := -s -w -X $(VERSION_PKG).Version=$(VERSION) -X $(VERSION_PKG).Revision=$(REVISION)

.DEFAULT_GOAL := help
.PHONY: help demo demo-check build build-dcgm image test browser rules otlp deploy week mutants live cluster lint generate check-generated bench fuzz clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## Simulate a node with four engines and serve it with the exporter on top, until Ctrl-C
	@exec $(BIN) demo

demo-check: build ## Start the demo, read one of its engines, stop it
	@.ci/demo-check $(BIN)

build: ## Build the static binary, bin/goodput-exporter
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/goodput-exporter

# Any program that builds as docker does: make image DOCKER=podman. Bases come from a registry; test/image needs none.
image: ## Build the images goodput-exporter:VERSION and goodput-exporter:VERSION-dcgm with DOCKER
	$(DOCKER) build --build-arg=VERSION='$(VERSION)' --build-arg=REVISION='$(REVISION)' -t goodput-exporter:$(VERSION) .
	$(DOCKER) build --target=dcgm --build-arg=VERSION='$(VERSION)' --build-arg=REVISION='$(REVISION)' -t goodput-exporter:$(VERSION)-dcgm .

# It must bind symbols lazily, against what hardened toolchains do by default: docs/dcgm.md.
build-dcgm: ## Build the child that reads DCGM, bin/goodput-dcgm; it needs gcc, and glibc where it runs
	CGO_ENABLED=1 $(GO) build -trimpath -ldflags '$(LDFLAGS) -extldflags=-Wl,-z,lazy' -o $(DCGM_BIN) ./cmd/goodput-dcgm

# Once go vet has looked, go test need not look at all of Kubernetes again.
DEPLOY      := cd test/deploy && $(GO) vet ./... && $(GO) test -count=1 -vet=off -shuffle=on ./...

# What starts no goroutine, by the law that internal/lawtest holds them to, and whose tests start none either.
ALONE := ./exporter/hist ./exporter/sim ./exporter/slo

# The senders of `otlp` mostly wait for windows to end, so they run beside what computes: `deploy`, which compiles, and the tests.
test: browser rules build $(COLLECTOR) ## Run all tests in random order, under the race detector but for what computes in one goroutine
	@$(MAKE) --no-print-directory otlp & otlp=$$!; failed=0; \
	($(DEPLOY)) || failed=1; \
	$(GO) test -race -shuffle=on $$($(GO) list ./... | grep -vxF "$$($(GO) list $(ALONE))") || failed=1; \
	$(GO) test -shuffle=on ./cmd/goodput-exporter ./exporter/fold $(ALONE) || failed=1; \
	wait $$otlp || failed=1; exit $$failed

browser: ## Open the status page in Chromium: no complaint, no request to elsewhere, no sideways scrolling
	cd test/browser && $(GO) vet ./... && $(GO) test -count=1 ./...

rules: ## Read all rules with Prometheus 3's parser, and try them on a simulated day with a real Prometheus
	cd test/promql3 && $(GO) vet ./... && $(GO) test -count=1 ./...
	GOODPUT_WEEK=1 $(GO) test -count=1 -run TestWeek ./cmd/goodput-exporter

otlp: build $(COLLECTOR) ## Send spans with OpenTelemetry's exporters for Go and Python, and through its Collector
	cd test/otlp && $(GO) vet ./... && $(GO) test -count=1 -parallel 16 ./...

deploy: build ## Hold manifests, builds of kustomize and renders of the chart against the API's types, one another and the binary
	$(DEPLOY)

$(COLLECTOR): $(wildcard test/otlp/collector/*.go test/otlp/collector/go.*)
	cd test/otlp/collector && $(GO) build -trimpath -ldflags '-s -w' -o ../../../$@ .

week: ## Try the rules on a simulated week with a real Prometheus; the table in docs/alerts.md is from this
	GOODPUT_WEEK=7 $(GO) test -count=1 -timeout 30m -run TestWeek -v ./cmd/goodput-exporter

mutants: ## Make every alert wrong in every way that is known, and see whether its tests notice
	GOODPUT_MUTANTS=all $(GO) test -count=1 -timeout 30m -run TestMutants ./alerts

live: build ## Install a real vLLM in VLLM_ENV (6 GB), run the exporter on it under load, and hold what it says against the truth
	test/live/install $(VLLM_ENV)
	$(GO) run ./test/live -env $(VLLM_ENV) -exporter $(BIN) -keep '$(LIVE_KEEP)'

cluster: build ## Build a real kube-apiserver and etcd in KUBE (once, a quarter of an hour), and try discovery and the manifests on them
	test/cluster/build $(KUBE) $(KUBE_VERSION)
	cd test/cluster && $(GO) vet ./... && GOODPUT_KUBE=$(KUBE) GOODPUT_EXPORTER=$(abspath $(BIN)) $(GO) test -count=1 -timeout 30m ./...

lint: ## gofmt, go vet, staticcheck, and promtool on the golden metrics page
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go' | xargs -r ls -d 2>/dev/null)); \
	  if [[ -n $$unformatted ]]; then echo "not formatted; run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool -modfile=.ci/tools/go.mod staticcheck ./...
ifeq ($(PROMTOOL),)
	@echo "promtool is not on PATH: $(PAGE) was not linted"
else
	@complaints=$$($(PROMTOOL) check metrics < $(PAGE) 2>&1 | grep -vxF "$(LINT_KNOWN)" || true); \
	  if [[ -n $$complaints ]]; then echo "promtool check metrics $(PAGE):"; echo "$$complaints"; exit 1; fi
endif

generate: build ## Write docs/metrics.md, docs/config.md, the dashboards, the rules, the copies of both in deploy/ and the tables in docs/sim.md and README.md anew
	$(BIN) generate docs
	$(BIN) generate dashboards
	$(BIN) generate rules --config.file=cmd/goodput-exporter/demo.yaml --output=alerts/goodput.rules.yml
	$(BIN) generate rules --config.file=cmd/goodput-exporter/demo.yaml --format=operator --output=alerts/goodput.prometheusrule.yaml
	$(BIN) generate dashboards --dir=deploy/kustomize/components/grafana
	$(BIN) generate rules --config.file=deploy/kustomize/base/goodput.yaml --format=operator --node-label=node --output=deploy/kustomize/components/prometheus-operator/prometheusrule.yaml
	$(BIN) generate chart
	.ci/readme-sample $(BIN)
	$(GO) run ./test/simfit

check-generated: generate ## Fail if a generated file differs from what is committed
	git diff --exit-code -- docs dashboards alerts deploy README.md

bench: build $(COLLECTOR) ## Run all benchmarks, and the taking in of spans beside an OpenTelemetry Collector's
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd test/otlp && $(GO) test -run '^$$' -bench . -benchtime 1x ./...

fuzz: ## Run each fuzz target for FUZZTIME (10s)
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -run '^$$' -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

clean: ## Remove what the targets built
	rm -rf bin
