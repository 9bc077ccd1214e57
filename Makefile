.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := flows,llm,report

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(VENV)/.installed: pyproject.toml constraints/dev.txt
	python3 -m venv $(VENV)
	$(BIN)/pip install -q -c constraints/dev.txt uv
	$(BIN)/uv pip install -q --python $(BIN)/python -e '.[$(EXTRAS)]' --group dev -c constraints/dev.txt
	touch $@

.PHONY: check
check: $(VENV)/.installed ## ruff, pyright (strict on core and tasks), import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

.PHONY: test
test: $(VENV)/.installed ## all tests that this machine can run
	$(BIN)/pytest
