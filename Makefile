# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The front door; CMake and Ninja do the work. `make help` lists the targets.
#
#   BUILD=build      the build folder          PREFIX=/usr/local   where `make install` puts things
#   WERROR=ON        warnings are errors       DESTDIR=            put in front of PREFIX, for packagers
#   JOBS=<cores>     at once, in tests         FUZZ_SECONDS=0      how long `make fuzz` runs; 0: until Ctrl-C
#   FUZZ=reader_fuzz what `make fuzz` fuzzes: reader_fuzz (bundles), ptx_fuzz (PTX)
#   LABEL=           of `make test`: only the tests with this label, such as bundle, pipeline or cuda
#   SEED=<day>       of `make test`: chooses the sample of the slowest tests

CC := clang-19
CXX := clang++-19
BUILD ?= build
WERROR ?= ON
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 0
FUZZ ?= reader_fuzz
LABEL ?=
SEED ?=

# Found when they are used: by then, setup may have installed it. Else the next build would be one from nothing.
ccache = $(shell command -v ccache)
export CCACHE_SLOPPINESS := pch_defines,time_macros
configure = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_C_COMPILER=$(CC) -DCMAKE_CXX_COMPILER=$(CXX) \
	-DMNEME_WERROR=$(WERROR) \
	$(if $(ccache),-DCMAKE_C_COMPILER_LAUNCHER=$(ccache) -DCMAKE_CXX_COMPILER_LAUNCHER=$(ccache))
sources = $(shell find lib mneme-* tests -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.hip')

.PHONY: all tools setup configure demo test test-all amd-identity bench gpu-bundle fuzz install package docs format lint lint-configure clean help

all: configure  ## build everything into ./build (the default)
	@scripts/build $(BUILD)

tools:  ## build the tools and the host device only
	@scripts/setup tools
	@test -f $(BUILD)/build.ninja || $(configure) -DBUILD_TESTING=OFF
	@scripts/build $(BUILD) tools

setup:  ## install the Debian packages that are missing
	@scripts/setup

configure: setup
	@$(configure) -DBUILD_TESTING=ON

demo: tools  ## record, recompile, replay and verify a few HIP applications, and show a table
	@scripts/demo $(BUILD)

ifeq ($(LABEL),)
test: all  ## run the tests; LABEL=bundle: only those with that label
	@scripts/test $(BUILD) --jobs $(JOBS) $(if $(SEED),--seed $(SEED))
else
test: configure
	@scripts/build $(BUILD) tests-$(LABEL)
	@scripts/test $(BUILD) --jobs $(JOBS) --label $(LABEL)
endif

test-all: all  ## run all the tests, with every combination of the pipeline's modes
	@scripts/build $(BUILD) tests-slow
	@scripts/test $(BUILD) --jobs $(JOBS) --all

amd-identity: all  ## compare code with the applications' own for each of AMD's processors; takes an hour
	@MNEME_BUILD=$(BUILD) python3 -B tests/amdgpu_processors.py

bench: all  ## measure, as ratios; needs an otherwise idle machine
	@scripts/build $(BUILD) benchmarks
	@scripts/bench $(BUILD)

gpu-bundle: configure  ## pack what scripts/gpu-check runs on a machine with a GPU, into ./build/gpu-bundle
	@scripts/gpu-bundle $(BUILD)

fuzz: configure  ## fuzz FUZZ for FUZZ_SECONDS, or until interrupted
	@scripts/build $(BUILD) $(FUZZ)
	@scripts/fuzz $(BUILD) $(FUZZ_SECONDS) $(FUZZ)

install: all  ## install under $(DESTDIR)$(PREFIX)
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

package: all  ## make a Debian package, ./build/mneme_VERSION_amd64.deb, and print its path
	cd $(BUILD) && cpack

docs: setup  ## write the documentation, the manual pages and the API reference as a site into ./build/docs/site
	@scripts/docs $(BUILD)

format: setup  ## format the sources
	clang-format-19 -i $(sources)

lint: setup  ## check the formatting, and run clang-tidy on each source by itself
	clang-format-19 --dry-run -Werror $(sources)
	@$(MAKE) --no-print-directory lint-configure BUILD=$(BUILD)/lint
	run-clang-tidy-19 -quiet -p $(BUILD)/lint -j $(JOBS) '/(lib|mneme-[a-z-]+)/.*(?<!_test)\.cc$$'

lint-configure:
	@$(configure) -DMNEME_ALONE=ON >/dev/null && cmake --build $(BUILD) --target version_text

clean:  ## remove the build folder
	rm -rf $(BUILD)

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
