// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is to be compiled: configurations in their normal form.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "codegen/nvptx/assembler.h"

namespace mneme::compile {

struct Wanted {
  bundle::Configuration configuration;
  // What makes a cubin of the PTX; nothing where the code stays what the compiler gives.
  std::optional<codegen::nvptx::Assembler> assembler;
  size_t line = 0;  // of the file of variants, from 1; 0: the command line
  // No IR is compiled: the code is what recorded_code.h says; or there is none, because of `refused`.
  bool from_code = false;
  std::string refused = {};
};

// A configuration as it was asked for: the target by any name, "" for this machine's CPU, and "auto" or "none" for an
// assembler.
struct Asked {
  bundle::Configuration configuration;
  std::set<std::string> given;  // keys that somebody has given a value
  // Those of them that must make sense with this target; others were given for targets of another kind, too.
  std::set<std::string> insisted;
  size_t line = 0;

  // The key as it was given: 'max_registers' in a line, else --max-registers.
  std::string name_of(const std::string& key) const;
};

// Brings configurations into their normal form. Looks for each assembler once.
class Normaliser {
 public:
  // Of a recording that a GPU made, which fuses multiply-adds where the IR allows it: code for the host device does so
  // as well, unless `fuse` or `contract` says otherwise.
  void set_recorded_on_gpu(bool on_gpu) { recorded_on_gpu_ = on_gpu; }

  // Throws Error on what no compiler could do, naming the option or the key, and with Exit::kMissing where the
  // assembler that is named is missing. A bad pipeline is not seen here.
  Wanted normalise(Asked asked);
  // The same of what is not compiled of IR. An assembler is chosen for PTX only.
  void settle_code(const Asked& asked, bool is_ptx, Wanted& wanted);

 private:
  void settle_processor(const Asked& asked, bundle::Configuration& configuration) const;
  void settle_launch(const Asked& asked, bundle::Configuration& configuration) const;
  void choose_assembler(const Asked& asked, Wanted& wanted);
  const std::optional<codegen::nvptx::Assembler>& assembler(const std::string& name);

  std::map<std::string, std::optional<codegen::nvptx::Assembler>> assemblers_;
  bool recorded_on_gpu_ = false;
};

// "line 3 of 'lines.jsonl'"
std::string place_of(size_t line, const std::string& name);

// A line of a file of variants; of which keys that are missing are as `defaults` has them. `name` is what messages call
// the file. Throws Error, with the line's number, on what is no configuration.
Asked parse_variant(std::string_view line, size_t number, const std::string& name, const Asked& defaults);
// All that have something in them. Throws Error also where there is none.
std::vector<Asked> parse_variants(std::string_view text, const std::string& name, const Asked& defaults);

// Their normal form, where `target` is that of lines that name none. Throws Error, with the line's number.
Wanted wanted_by(Asked asked, const std::string& name, const std::string& target, Normaliser& normaliser);
// In order, each configuration once.
std::vector<Wanted> all_wanted_by(const std::vector<Asked>& asked, const std::string& name, const std::string& target,
                                  Normaliser& normaliser);

// With the numbers of the kernel's arguments in place of their names, so that one configuration has one form, and is
// there once.
Wanted wanted_of(const bundle::KernelInfo& kernel, Wanted wanted);
std::vector<Wanted> wanted_of(const bundle::KernelInfo& kernel, const std::vector<Wanted>& all);

// Whether it is launched otherwise than was recorded, or is for one instance only.
bool launches_otherwise(const bundle::Configuration& configuration);

}  // namespace mneme::compile
