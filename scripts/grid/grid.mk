# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# An experiment grid: every combination of some lists is compiled, replayed and verified, each beside the baseline, and
# all of them are compared. In a Makefile of yours:
#
#     BUNDLE := app.tar
#     PASSES := default<O1> default<O2> default<O3>
#     CODEGEN_OPT := 1 3
#     include /usr/local/share/mneme/grid.mk
#
# `make -j` then makes $(RESULTS)/cells/*.json, summary.jsonl and summary.csv, and prints a table. What is there already is
# not made again; make ends with an error, behind the table, where a cell is not verified. See docs/grids.md.

MNEME_SHARE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
MNEME_GRID ?= $(MNEME_SHARE)/mneme-grid

# The lists, of words; `default` stands for what mneme-compile does by itself.
PASSES ?=
CODEGEN_OPT ?=
TARGETS ?=
GRIDS ?=
BLOCKS ?=
SHARED_MEM ?=
LAUNCH_BOUNDS ?=
SPECIALIZE ?=
UNROLL_THRESHOLD ?=
INLINE_THRESHOLD ?=
FAST_MATH ?=
ATTRIBUTES ?=
MAX_REGISTERS ?=
PTXAS_LEVEL ?=

RESULTS ?= results
# What all cells are compared with: a configuration in json (docs/configurations.md).
BASELINE ?= {}
# The times that count: so many rounds, in which baseline and cell take turns.
ROUNDS ?= 10
# Further options of the tools.
COMPILE_FLAGS ?=
RUN_FLAGS ?=
VERIFY_FLAGS ?=

# What makes the cells: `local`, this machine as make goes on; `slurm`, a cluster's job arrays.
ENGINE ?= local
# Options of sbatch, such as --partition=gpu --gres=gpu:1 --time=10; how many cells run at a time (all that there is
# room for); how many seconds a result may take to be seen here, through a file system that nodes share.
SLURM_OPTIONS ?=
SLURM_TASKS ?=
SLURM_SETTLE ?= 10

ifndef BUNDLE
  $(error BUNDLE has to name a recording that mneme-capture made)
endif

mneme_cells := $(shell $(MNEME_GRID) cells --baseline '$(BASELINE)' --rounds '$(ROUNDS)' \
  --compile-flags='$(COMPILE_FLAGS)' --run-flags='$(RUN_FLAGS)' --verify-flags='$(VERIFY_FLAGS)' \
  '$(RESULTS)' 'PASSES=$(PASSES)' 'CODEGEN_OPT=$(CODEGEN_OPT)' 'TARGETS=$(TARGETS)' 'GRIDS=$(GRIDS)' 'BLOCKS=$(BLOCKS)' \
  'SHARED_MEM=$(SHARED_MEM)' 'LAUNCH_BOUNDS=$(LAUNCH_BOUNDS)' 'SPECIALIZE=$(SPECIALIZE)' \
  'UNROLL_THRESHOLD=$(UNROLL_THRESHOLD)' 'INLINE_THRESHOLD=$(INLINE_THRESHOLD)' 'FAST_MATH=$(FAST_MATH)' \
  'ATTRIBUTES=$(ATTRIBUTES)' 'MAX_REGISTERS=$(MAX_REGISTERS)' 'PTXAS_LEVEL=$(PTXAS_LEVEL)')
ifeq ($(mneme_cells),)
  $(error there is no cell to make)
endif
mneme_results := $(mneme_cells:%=$(RESULTS)/cells/%.json)

.PHONY: grid plot retry
grid: $(mneme_results)
	@$(MNEME_GRID) summary '$(RESULTS)' '@$(RESULTS)/grid.cells'

plot: $(mneme_results)
	@$(MNEME_GRID) plot '$(RESULTS)' '@$(RESULTS)/grid.cells'

# What is no good is no result any more: the next `make` makes it again.
retry:
	@$(MNEME_GRID) retry '$(RESULTS)'

ifeq ($(ENGINE),local)
$(mneme_results): $(RESULTS)/cells/%.json: $(RESULTS)/cells/%.config $(BUNDLE)
	@$(MNEME_GRID) run '$(RESULTS)' '$*' '$(BUNDLE)'
else ifeq ($(ENGINE),slurm)
# It looks for itself which cells are done.
.PHONY: mneme-slurm
$(mneme_results): mneme-slurm ;
mneme-slurm: $(BUNDLE)
	@$(MNEME_GRID)-slurm --options='$(SLURM_OPTIONS)' --tasks='$(SLURM_TASKS)' --settle='$(SLURM_SETTLE)' \
	  '$(RESULTS)' '$(BUNDLE)'
else
  $(error ENGINE is '$(ENGINE)', which is neither local nor slurm)
endif
