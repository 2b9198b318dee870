# What a developer types. Go and make are enough for `make demo` and `make test`; they fetch the rest.

GO ?= go
# Tools have a module file of their own, so go.mod lists only what ships.
TOOL = $(GO) tool -modfile=$(CURDIR)/go.tools.mod
# The race detector needs cgo. Go itself turns cgo off where it finds no C compiler.
RACE := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
FUZZTIME ?= 20s
SEEDS ?= 10000
FIRST ?= 1
SOAK_MINUTES ?= 30

.PHONY: demo test build fmt check lint vulncheck fuzz sim integration soak bench bench-e2e bench-latency bench-sweep bench-peers bench-growth compose-check

demo: ## The whole idea in a minute: real events, real files, sinks killed at random.
	$(GO) run ./cmd/lakeweir demo

test: ## All unit tests. No network, no Docker.
ifeq ($(RACE),)
	@echo "no C compiler found: testing without the race detector"
endif
	$(GO) test $(RACE) -timeout 20m ./...

build: ## The command, as bin/lakeweir.
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/lakeweir

fmt: ## Rewrites the sources in gofumpt's style.
	$(TOOL) gofumpt -w .

check: lint vulncheck ## Everything that a tool can say about the sources.
	$(GO) mod tidy -diff
	cd integration && $(GO) mod tidy -diff

lint: ## Style, vet and staticcheck, in both modules.
	@out=$$($(TOOL) gofumpt -l .) || exit 1; \
	if [ -n "$$out" ]; then echo "not in gofumpt's style (make fmt mends it):"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	cd integration && $(GO) vet ./... && $(TOOL) staticcheck ./...

vulncheck: ## Known holes in what we call. Says so and goes on where the database is out of reach.
	@if out=$$($(TOOL) govulncheck ./... 2>&1); then echo "govulncheck: nothing found"; \
	elif echo "$$out" | grep -qE 'fetching vulnerabilities|dial tcp|no such host'; then \
		echo "govulncheck: skipped, its database cannot be reached"; \
	else echo "$$out"; exit 1; fi

# Two processes, since the random numbers of one belong to one seed at a time.
sim: ## The simulation: SEEDS (10000) made-up histories of writers, logs and a bad store.
	@half=$$(($(SEEDS) / 2)); $(GO) test -c -o bin/simulation.test ./writer/simulation && \
	{ bin/simulation.test -test.run '^TestSeeds$$' -test.v -seeds $$half -first $(FIRST) & first=$$!; \
	  bin/simulation.test -test.run '^(TestSeeds|TestReplay)$$' -replays 200 -seeds $$(($(SEEDS) - half)) -first $$(($(FIRST) + half)); second=$$?; \
	  wait $$first && exit $$second; }

fuzz: ## Every fuzz target for FUZZTIME (20s each).
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" .ci/fuzz

# -count=1: these tests build and run the command, which Go's cache of results does not see.
integration: ## Against a real Apache Kafka, an S3 server and DuckDB. Needs Java 17, Maven and Python 3.
	cd integration && kafka=$$(kafka/install.sh) && duckdb=$$(duckdb/install.sh) && \
		LAKEWEIR_KAFKA=$$kafka LAKEWEIR_DUCKDB=$$duckdb $(GO) test -count=1 -p 1 -timeout 15m ./...

# The integration tests have the same for three minutes. Also: LAKEWEIR_SOAK_RECORDS, LAKEWEIR_SOAK_STRIKES, LAKEWEIR_SOAK_SEED.
soak: ## Killed, paused and restarted processes for SOAK_MINUTES (30), with a seed that is printed.
	cd integration && kafka=$$(kafka/install.sh) && duckdb=$$(duckdb/install.sh) && \
		LAKEWEIR_KAFKA=$$kafka LAKEWEIR_DUCKDB=$$duckdb LAKEWEIR_SOAK_SECONDS=$$(($(SOAK_MINUTES) * 60)) \
		LAKEWEIR_SOAK_SEED=$${LAKEWEIR_SOAK_SEED:-$$(date +%s)} LAKEWEIR_SOAK_RECORDS=$${LAKEWEIR_SOAK_RECORDS:-$$(($(SOAK_MINUTES) * 600000))} \
		$(GO) test -count=1 -v -timeout $$(($(SOAK_MINUTES) + 10))m -run '^TestSoak$$' ./soak

bench: ## Each part alone: fetch, parse, shred, encode, hash, dedup, put, head commit, with allocations. Takes two minutes.
	$(GO) test -run '^$$' -bench . -benchmem -benchtime 300ms ./internal/source ./internal/decode ./internal/columnar ./dedup ./store/dir ./manifest

bench-e2e: ## Processor time, throughput and memory from a broker to files, beside DuckDB. Takes a quiet machine and 20 minutes.
	cd integration && duckdb=$$(duckdb/install.sh) && LAKEWEIR_DUCKDB=$$duckdb $(GO) run ./bench

bench-latency: ## How long records take from the producer until they are published, with max_age 1s. Takes two minutes.
	cd integration && $(GO) run ./bench -latency 10000 -seconds 30

bench-sweep: ## Throughput and memory by partitions and by sizes of batches, drawn into docs/sweep.svg. Takes a quiet machine and 5 minutes.
	cd integration && $(GO) run ./bench -sweep -store gateway -records 500000 -rounds 3 -svg ../docs/sweep.svg

bench-growth: ## What commits, claims, status and verify cost with 1e3, 1e5 and 1e6 published files. Takes 5 minutes and 4 GB.
	cd integration && $(GO) run ./bench -growth 1000,100000,1000000 -rounds 5 -svg ../docs/growth.svg

# BENTO, OLAKE: a binary. AIVEN: a folder of jars. What is not given is named and skipped. PEERS: flags, as -records 500000.
bench-peers: ## The same beside other sinks, on a real Kafka, with a kill -9 of each. Needs Java 17, Maven and Python 3, and an hour.
	cd integration && kafka=$$(kafka/install.sh) && peers=$$(bench/peers/install.sh) && \
		LAKEWEIR_KAFKA=$$kafka LAKEWEIR_PEERS=$$peers $(GO) run ./bench/peers $(PEERS)

compose-check: ## docker-compose.yml is one that `docker compose` accepts.
	@if docker compose version >/dev/null 2>&1; then docker compose config --quiet; \
	else echo "no docker compose here: checking with the library that it is made of"; \
		$(TOOL) cmd docker-compose.yml >/dev/null; fi
