# SPDX-License-Identifier: BSD-3-Clause
#
# The short way in; `make help` lists what there is. The work is done by CMake, in build/<mpi>/.

SHELL := /bin/bash
.DEFAULT_GOAL := build
.NOTPARALLEL:

# Here and below, `=` delays a look-up until a recipe runs, that is, until `setup` has installed what was missing.
mpis = $(or $(MPI),$(shell tools/setup.sh mpis))
mpi = $(firstword $(mpis))

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
python := build/venv/bin/python
ctest = ctest --output-on-failure --no-tests=error -j $(JOBS)
export MPI MPICC
ifneq ($(MPICC),)
$(if $(MPI),,$(error MPICC= needs a name for its build folder: MPI=name))
endif
generator = $(if $(shell command -v ninja),Ninja,Unix Makefiles)
ifeq ($(WERROR),ON)
flags += -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
endif

# $(call build,PRESET,FOLDER,FLAGS,TARGET): configures the folder once (CMake repeats that by itself when need be) and builds it.
# The stamp tells a configured folder from one in which configuring failed.
build = { [[ -e $(2)/.configured ]] || \
          { echo "configuring $(2)" && \
            CMAKE_GENERATOR="$${CMAKE_GENERATOR:-$(generator)}" cmake --preset $(1) -B $(2) $(3) $(flags) >/dev/null && \
            touch $(2)/.configured; }; } && \
        cmake --build $(2) -j $(JOBS) $(if $(4),--target $(4))
build_mpi = $(call build,release,build/$(1),-DPLENUM_MPI=$(1) -DPLENUM_MPI_CC='$(MPICC)',$(2))

.PHONY: help setup python build build-all demo test test-all bench install docs format clean \
        check check-symbols test-sanitizers test-mpi

help:
	@echo 'make             build Plenum into build/<mpi>/; the drop-in is build/<mpi>/lib/libplenum_mpiio.so'
	@echo 'make demo        run unmodified MPI programs natively and on Plenum, and compare (about two minutes)'
	@echo 'make test        run all checks and tests, with each MPI library that is installed'
	@echo 'make test-all    the same, and the slow tests'
	@echo 'make bench       measure, and print the tables of docs/'
	@echo 'make install     install below PREFIX=/usr/local'
	@echo 'make docs        write the generated pages of docs/ anew'
	@echo 'make format      bring all sources into the common format'
	@echo 'make clean       remove build/'
	@echo
	@echo 'MPI=openmpi or MPI=mpich chooses the MPI library (default: the one installed; Open MPI if both).'
	@echo 'MPI=name MPICC=/path/mpicc takes another one. JOBS=n limits parallel work; WERROR=ON makes warnings errors.'

setup:
	@tools/setup.sh

python:
	@tools/setup.sh python

# What users need; the tests are built by those targets that run them.
build: setup
	@$(call build_mpi,$(mpi),programs)

build-all: setup
	@for mpi in $(mpis); do $(call build_mpi,$$mpi) || exit; done

demo: python build
	@$(python) examples/demo.py --mpi $(mpi) --build build/$(mpi) --lib build/$(mpi)/lib/libplenum_mpiio.so \
	  $(if $(MPICC),--mpicc $(MPICC) --mpiexec $(dir $(MPICC))mpiexec)

# The quick checks first, then what needs no MPI under the sanitizers, then everything under each MPI library.
test: unwanted = -LE slow
test test-all: python check build-all check-symbols test-sanitizers test-mpi

check: setup
	@tools/check_format.sh
	@python3 tools/check_layers.py --self-test
	@python3 tools/check_layers.py
	@tools/check_headers.sh

check-symbols: build-all
	@for mpi in $(mpis); do cmake --build build/$$mpi --target check_symbols || exit; done

test-sanitizers: setup
	@for sanitizer in asan tsan; do \
	  $(call build,$$sanitizer,build/$$sanitizer) && $(ctest) --test-dir build/$$sanitizer $(unwanted) || exit; \
	done

test-mpi: python build-all
	@for mpi in $(mpis); do $(ctest) --test-dir build/$$mpi $(unwanted) || exit; done

bench: python build
	@$(python) bench/run.py --mpi $(mpi) --build build/$(mpi)

install: build
	@cmake --install build/$(mpi) --prefix '$(abspath $(PREFIX))'

docs: build
	@cmake --build build/$(mpi) --target hints_page
	@$$(find build/$(mpi) -name hints_page -type f) > docs/hints.md

format: setup
	@tools/check_format.sh --fix

clean:
	rm -rf build
