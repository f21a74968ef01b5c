# The targets are for people; CI runs .ci/run, which uses the same commands.
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: ## draw 5,000 traces, play them on model and host, shrink what fails
	go run ./cmd/mcpsim check

replay: ## play the whole corpus, in both modes
	go run ./cmd/mcpsim replay

test: ## run every test
	go test ./...

race: ## the tests of what is concurrent, under the race detector
	go test -race ./impl/live/... ./sim/check/...

soak: ## hard use of the live host: 200 servers, 500 edits, kills, both modes (some minutes)
	MCPSIM_SOAK=1 go test ./impl/live -run 'Soak|FullDisk' -count=1 -v -timeout 40m

mutants: ## break the code on purpose, every way we know; fails on a survivor
	go test ./properties/mutants -run TestMutants -mutants=all -record -timeout 60m -v

bench: ## the bars of the design, bar and figure side by side (some minutes)
	go test ./properties -run '^$$' -bench Bars -benchtime 1x -timeout 60m

microbench: ## the benchmarks of single packages
	go test ./impl/... ./model ./sim/... -run '^$$' -bench . -benchtime 1s

generate: ## rewrite the generated files (coverage table, schema)
	go generate ./...

fmt: ## format
	gofmt -w .

.PHONY: help check replay test race soak mutants bench microbench generate fmt
