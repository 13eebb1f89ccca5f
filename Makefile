# Every target does its own set-up; a second call installs nothing. PYTHON chooses the interpreter (3.11 or newer).

PYTHON ?= python3
VENV := .venv
BENCH_VENV := .venv-bench
CLIENTS_VENV := .venv-clients
PLUGINS_VENV := .venv-plugins
CUPY_VENV := .venv-cupy
PROJECTS := $(wildcard packages/*/pyproject.toml)
NATIVE := $(wildcard packages/*/setup.py) $(shell find packages/*/csrc -name '*.[ch]')
PACKAGES := $(addprefix -e ,$(dir $(PROJECTS)))
PIP_INSTALL := -m pip --disable-pip-version-check install --quiet
# Of what is installed, Python compiles what is imported.
LOCKED := --require-hashes --only-binary=:all: --no-compile
OURS := --no-deps --no-build-isolation
CODE := packages tests tools examples benchmarks clients conftest.py

.DEFAULT_GOAL := help
.PHONY: help setup run dist test test-pythons test-long test-clients test-plugins test-gpu-sources test-cupy gpu-report check format docs bench lock clean

help:
	@echo "make run     contract a real tensor network, the 10 x 10 Ising model, and draw its plan into out/"
	@echo "make test    every test: unit, doctests, what the README prints, wheels; kernels without C, and under sanitizers"
	@echo "make test-pythons  the unit tests and doctests on every Python installed; PYTHONS='python3.12 /opt/py/bin/python'"
	@echo "make test-long  the properties at large counts, resumed where they ended, and fuzzed C kernels;"
	@echo "               BUDGET=seconds for each of both, default to the end, and four hours; without BUDGET first"
	@echo "               Hypothesis with 2,000 examples for each test that leaves their number to it"
	@echo "make test-clients SUITES=folder  tests of opt_einsum, cotengra, einops and the array API, checked out in that folder, and"
	@echo "               programs on quimb, SciPy and scikit-learn, all on our tensors; NAMES=\"quimb scipy\" runs some of them"
	@echo "make test-plugins  the backend on PyTorch of examples/plugins, as a wheel, held to the conformance suite"
	@echo "make test-gpu-sources  every kernel for GPUs run on the host, and compiled to device code by a compiler that needs no GPU; ARCHITECTURES=\"sm_70 sm_90\""
	@echo "make test-cupy  what we ask of CuPy compared with its wheel, and layouts on its arrays; needs no GPU"
	@echo "make gpu-report  what a GPU does here, into out/gpu.md, with the packages of REPORT_PYTHON, default .venv;"
	@echo "               on a simulated device where there is no GPU"
	@echo "make check   format, lint, types, import contracts, docstrings; C: format, and the warnings of GCC and Clang"
	@echo "make format  let ruff write the format and its safe fixes"
	@echo "make docs    the documentation as a site, out/site/html/index.html"
	@echo "make bench   the benchmarks, beside their peers in an environment of their own"
	@echo "make bench-NAME  one of them: calls, permute, elementwise, everyday, products, reduction, linalg, einsum, environments,"
	@echo "               planner, first, drawn, own_paths, steps, kernels, fresh, sweeps, sliced, overhead, stages, imports"
	@echo "make dist    wheels and source distributions of all packages, and the wheels that they need, into dist/"
	@echo "make setup   the environment .venv, with everything above but the peers"
	@echo "make lock    pin the dependency groups of pyproject.toml in requirements/*.txt; LOCK_OPTIONS=--upgrade takes newer releases"
	@echo "make clean   remove environments, caches and output"

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; name it with PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements/build.txt requirements/run.txt $(PROJECTS) $(NATIVE)
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/build.txt -r requirements/run.txt
	$(VENV)/bin/python $(PIP_INSTALL) $(OURS) $(PACKAGES)
	@touch $@

$(VENV)/.dist: $(VENV)/.made requirements/build.txt requirements/run.txt requirements/dist.txt
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/build.txt -r requirements/run.txt -r requirements/dist.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/test.txt requirements/dev.txt requirements/dist.txt
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/test.txt -r requirements/dev.txt -r requirements/dist.txt
	@touch $@

setup: $(VENV)/.dev

run: $(VENV)/.run
	@mkdir -p out
	$(VENV)/bin/ironstride contract examples/networks/ising_10x10.json --path sweep --plot out/ising_10x10.svg

dist: $(VENV)/.dist
	$(VENV)/bin/python tools/dist.py

# What is tested is compiled without a warning, and so is what is given away: every version, whatever this machine can run.
test check dist: export CFLAGS := $(strip $(CFLAGS) -Werror)

test: $(VENV)/.dev
	$(VENV)/bin/python tools/all_suites.py

# Each version in an environment of its own, .venv-3.12.4 and so on; the first interpreter of a version stands for it.
# Without PYTHONS, those that a name on PATH starts.
PYTHONS ?= $(shell for name in python3.11 python3.12 python3.13 python3.14; do \
	if $$name -c pass 2>/dev/null; then echo $$name; fi; done)

test-pythons:
	@test -n "$(strip $(PYTHONS))" || { echo "no Python of 3.11 or newer is on PATH; name some with PYTHONS=..."; exit 1; }
	@set -e; seen=" "; for python in $(PYTHONS); do \
		number=$$($$python -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])'); \
		case "$$seen" in *" $$number "*) echo "Python $$number was tested already; $$python is passed over"; continue;; esac; \
		seen="$$seen$$number "; \
		echo "Python $$number"; \
		$(MAKE) --no-print-directory PYTHON=$$python VENV=.venv-$$number .venv-$$number/.dev; \
		.venv-$$number/bin/python -m pytest; \
	done

test-long: $(VENV)/.dev
ifndef BUDGET
	$(VENV)/bin/python -m pytest packages -m hypothesis --hypothesis-profile=long
endif
	$(VENV)/bin/python tools/long_tests.py $(if $(BUDGET),--budget $(BUDGET))
	$(VENV)/bin/python tools/fuzz_kernels.py $(if $(BUDGET),--budget $(BUDGET))

# Where the compiler's library was installed once, the suite compiles some of them too.
test-gpu-sources: $(VENV)/.dev
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) --no-deps -r requirements/nvrtc.txt
	$(VENV)/bin/python tools/gpu_sources.py $(ARCHITECTURES)
	$(VENV)/bin/python -m pytest -q packages/gpu_backend/tests/test_programs_on_host.py

# In less than ten minutes; with REQUIRE_GPU=1 it fails where there is no GPU. REPORT_PYTHON has the libraries to compare with.
REPORT_PYTHON ?= $(VENV)/bin/python
ifeq ($(REPORT_PYTHON),$(VENV)/bin/python)
gpu-report: $(VENV)/.dev
endif
gpu-report:
	$(REPORT_PYTHON) tools/gpu_report.py $(REPORT)

check: $(VENV)/.dev
	$(VENV)/bin/python tools/all_checks.py $(CODE)

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix $(CODE)
	$(VENV)/bin/ruff format $(CODE)

$(VENV)/.docs: $(VENV)/.run requirements/docs.txt
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/docs.txt
	@touch $@

docs: $(VENV)/.docs
	$(VENV)/bin/python tools/docs_site.py

$(BENCH_VENV)/.made: requirements/build.txt requirements/run.txt requirements/bench.txt $(PROJECTS) $(NATIVE)
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/build.txt -r requirements/run.txt
	$(BENCH_VENV)/bin/python $(PIP_INSTALL) -r requirements/bench.txt
	$(BENCH_VENV)/bin/python $(PIP_INSTALL) $(OURS) $(PACKAGES)
	@touch $@

# IRONSTRIDE_NETWORKS names a folder of network files and permutation patterns; BENCH holds options, such as "--threads 1".
bench: $(BENCH_VENV)/.made
	$(BENCH_VENV)/bin/python -m benchmarks

bench-%: $(BENCH_VENV)/.made
	@mkdir -p out
	$(BENCH_VENV)/bin/python -m benchmarks $* --json out/$*.json $(BENCH)

$(CLIENTS_VENV)/.made: requirements/build.txt requirements/run.txt requirements/clients.txt $(PROJECTS) $(NATIVE)
	$(PYTHON) -m venv $(CLIENTS_VENV)
	$(CLIENTS_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/build.txt -r requirements/run.txt
	$(CLIENTS_VENV)/bin/python $(PIP_INSTALL) -r requirements/clients.txt
	$(CLIENTS_VENV)/bin/python $(PIP_INSTALL) $(OURS) $(PACKAGES)
	@touch $@

# SUITES names a folder with the tests of other libraries: opt_einsum, cotengra, einops, array-api-tests (clients/suites.py).
test-clients: $(CLIENTS_VENV)/.made
	@test -n "$(SUITES)" || { echo "name the folder of the suites: make test-clients SUITES=folder"; exit 1; }
	$(CLIENTS_VENV)/bin/python -m clients $(SUITES) $(NAMES)

$(PLUGINS_VENV)/.made: requirements/build.txt requirements/run.txt requirements/test.txt requirements/plugins.txt $(PROJECTS) $(NATIVE)
	$(PYTHON) -m venv $(PLUGINS_VENV)
	$(PLUGINS_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) $(addprefix -r requirements/,build.txt run.txt test.txt plugins.txt)
	$(PLUGINS_VENV)/bin/python $(PIP_INSTALL) $(OURS) $(PACKAGES)
	@touch $@

test-plugins: $(PLUGINS_VENV)/.made
	$(PLUGINS_VENV)/bin/python -m pytest -q -rP tests/test_plugin_torch.py tests/test_plugin_family.py

$(CUPY_VENV)/.made: requirements/build.txt requirements/run.txt requirements/test.txt requirements/cupy.txt requirements/nvrtc.txt $(PROJECTS) $(NATIVE)
	$(PYTHON) -m venv $(CUPY_VENV)
	$(CUPY_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) $(addprefix -r requirements/,build.txt run.txt test.txt cupy.txt)
	$(CUPY_VENV)/bin/python $(PIP_INSTALL) $(LOCKED) --no-deps -r requirements/nvrtc.txt
	$(CUPY_VENV)/bin/python $(PIP_INSTALL) $(OURS) $(PACKAGES)
	@touch $@

test-cupy: $(CUPY_VENV)/.made
	$(CUPY_VENV)/bin/python -m pytest -q packages/gpu_backend/tests/test_cupy_wheel.py packages/gpu_backend/tests/test_cupy_api.py packages/gpu_backend/tests/test_cupy_memory.py packages/gpu_backend/tests/test_cuda_report.py

# The index and the certificates that uv asks are the machine's own, chosen by its variables (UV_INDEX, SSL_CERT_FILE, ...).
# Extras are kept: where `package[extra]` is asked for, older pip takes a pin of `package` alone for no pin of it.
COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes --no-strip-extras --no-emit-index-url --no-emit-find-links --no-annotate --no-header

# In this order: each file is bound to the versions of those before. The file that is there says which versions stay.
lock: $(VENV)/.made
	$(VENV)/bin/python $(PIP_INSTALL) $(LOCKED) -r requirements/lock.txt
	@set -e; before=; for group in run build test dev docs dist lock nvrtc plugins cupy cutensor12 cutensor13 nvmath; do \
		$(COMPILE) $(LOCK_OPTIONS) --group $$group $$before -o requirements/$$group.txt; \
		before="$$before -c requirements/$$group.txt"; \
	done

clean:
	rm -rf $(VENV) .venv-3.* $(BENCH_VENV) $(CLIENTS_VENV) $(PLUGINS_VENV) $(CUPY_VENV) out build dist .c_check_cache .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf __pycache__ packages/*/build packages/*/src/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
