# Three words for what is done most; all use the virtual environment in .venv.
.PHONY: test test-all docs

# Quick: what needs no environment of a framework and no Chromium.
test: .venv
	.venv/bin/python -m pytest -m "not framework and not browser"

# Everything; makes the environments of the frameworks on first use.
test-all: .venv
	.venv/bin/python -m pytest

# The site, in build/site/.
docs: .venv
	.venv/bin/mkdocs build --strict

.venv:
	python3 -m venv .venv
	.venv/bin/pip install --quiet -e '.[dev]'
