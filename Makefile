.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := flows,llm,report,graph,mcp
LIBRARY ?= numpy
GROUP ?= data_science
MODEL ?= qwen2.5-coder-7b

# uv does not read pip's configuration: an index that is set there is handed on.
PIP_INDEX := $(shell $(PYTHON) -m pip config get global.index-url 2>/dev/null)
ifneq ($(PIP_INDEX),)
export UV_DEFAULT_INDEX ?= $(PIP_INDEX)
endif

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(VENV)/.installed: pyproject.toml constraints/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints/dev.txt uv
	$(BIN)/uv pip install -q --python $(BIN)/python -e '.[$(EXTRAS)]' --group dev -c constraints/dev.txt
	@touch $@

.PHONY: install-local
install-local: $(VENV)/.installed sandbox ## everything for this machine, without a GPU: .venv and the sandbox

.PHONY: sandbox
sandbox: ## install bubblewrap where that is possible, else say how
	@command -v bwrap >/dev/null && exit 0; \
	remedy='install bubblewrap with the package manager (apt install bubblewrap) and run make again'; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then run=; \
	elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then run='sudo -n'; \
	else echo "the sandbox needs bubblewrap: $$remedy" >&2; exit 3; fi; \
	echo 'installing bubblewrap (apt)' >&2; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ $$run apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null 2>&1 || \
	  { $$run apt-get update -qq >/dev/null && $$run apt-get install -y -qq --no-install-recommends bubblewrap >/dev/null; }; } || \
	{ echo "bubblewrap could not be installed: $$remedy" >&2; exit 3; }

.PHONY: demo
demo: install-local ## the whole benchmark on numpy with the embedded baseline: stages, grid, labels, report
	@$(BIN)/novelapi demo $(ARGS)

.PHONY: check
check: $(VENV)/.installed ## ruff, pyright (strict on core and tasks), import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

.PHONY: lint
lint: $(VENV)/.installed ## ruff alone
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: format
format: $(VENV)/.installed ## rewrite the code in the common form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: test
test: $(VENV)/.installed sandbox ## all tests that this machine can run in minutes
	$(BIN)/pytest -m 'not slow and not docker and not vllm and not gpu' $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.installed sandbox ## every test; what is missing here is skipped with the reason
	$(BIN)/pytest $(ARGS)

.PHONY: smoke
smoke: $(VENV)/.installed ## import every module and ask every verb for its help
	$(BIN)/python -m tests.smoke

.PHONY: pipeline
pipeline: install-local ## the four stages: make pipeline LIBRARY=torch MODEL=qwen2.5-coder-7b
	$(BIN)/novelapi build $(LIBRARY) --model $(MODEL) $(ARGS)

.PHONY: build-group
build-group: install-local ## the tasks of a group: make build-group GROUP=agent_tool MODEL=qwen2.5-coder-7b
	$(BIN)/novelapi build --group $(GROUP) --model $(MODEL) $(ARGS)

.PHONY: pooled-paper
pooled-paper: install-local ## the parametric grid on the pooled split of the paper's libraries
	$(BIN)/novelapi run --group all_pooled_paper --model $(MODEL) \
	  --conditions baseline full --delivery oracle sft raft grace memit alphaedit alphaedit_lora $(ARGS)

.PHONY: clean
clean: ## stop the local server, remove caches and builds; data/ and .venv stay
	@if [ -x $(BIN)/python ]; then $(BIN)/python -m flows.server stop; fi
	rm -rf build dist .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -not -path './data/*' -prune -exec rm -rf {} +

$(VENV)/.docs: $(VENV)/.installed constraints/docs.txt
	$(BIN)/uv pip install -q --python $(BIN)/python --group docs -c constraints/dev.txt -c constraints/docs.txt
	@touch $@

.PHONY: docs
docs: $(VENV)/.docs ## the documentation as a site, in site/ (no network)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q

$(VENV)/.train: $(VENV)/.installed constraints/train.txt
	$(BIN)/pip install -q torch -c constraints/train.txt
	$(BIN)/uv pip install -q --python $(BIN)/python -e '.[$(EXTRAS),train]' -c constraints/dev.txt -c constraints/train.txt
	@touch $@

.PHONY: demo-adapt
demo-adapt: install-local $(VENV)/.train ## every method of knowledge in the weights, on a tiny model on one core
	@OMP_NUM_THREADS=1 $(BIN)/python -m flows.demo_adaptation $(ARGS)
