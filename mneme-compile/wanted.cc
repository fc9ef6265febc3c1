// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wanted.h"

#include <algorithm>
#include <type_traits>
#include <unordered_set>

#include "base/error.h"
#include "bundle/checks.h"
#include "bundle/configuration.h"
#include "bundle/launch.h"
#include "codegen/choices.h"
#include "codegen/compile.h"
#include "codegen/host/host.h"
#include "codegen/shared_memory.h"
#include "ir/plugins.h"

namespace mneme::compile {
namespace {

constexpr uint32_t kLeastRegisters = 16, kMostRegisters = 255;        // as the assembler has them
constexpr uint32_t kFirstCodeObject = 4, kLastCodeObject = 6;         // versions, as LLVM has them
constexpr uint32_t kMostThreads = 1024;                               // of a block, on every device
constexpr uint32_t kMostThreadsDeep = 64, kMostBlocksAcross = 65535;  // on NVIDIA's GPUs, but for a grid's x

std::string name_of(const std::string& key, const Asked& asked) {
  if (asked.line) return "'" + key + "'";
  if (key == "max_threads") return "--launch-bounds";
  if (key == "min_blocks") return "the second number of --launch-bounds";
  if (key == "plugins") return "--load-pass-plugin";
  if (key == "level") return "-O";
  if (key == "checks") return "--check";
  if (key == "fuse" && !asked.configuration.fuse) return "--no-fuse";
  std::string option = "--" + key;
  std::ranges::replace(option, '_', '-');
  return option;
}

// A value that has no meaning for the target: refused where it was insisted on, else as if it had not been given.
template <typename Value>
void drop(Value& value, const std::type_identity_t<Value>& unset, const char* key, const char* whose,
          const Asked& asked, const std::string& target) {
  if (value != unset && asked.insisted.contains(key)) {
    throw Error::of("{} is for {}, not for {} {}", name_of(key, asked), whose, name_of("target", asked), target);
  }
  value = unset;
}

}  // namespace

// A line of a file may go by what the command line has given.
std::string Asked::name_of(const std::string& key) const {
  Asked by_whom = *this;
  if (!insisted.contains(key)) by_whom.line = 0;
  return compile::name_of(key, by_whom);
}

const std::optional<codegen::nvptx::Assembler>& Normaliser::assembler(const std::string& name) {
  auto known = assemblers_.find(name);
  if (known == assemblers_.end()) known = assemblers_.emplace(name, codegen::nvptx::find_assembler(name)).first;
  return known->second;
}

void Normaliser::choose_assembler(const Asked& asked, Wanted& wanted) {
  bundle::Configuration& configuration = wanted.configuration;
  const std::string name = configuration.assembler;
  bool nvidia = configuration.target.starts_with("cuda:");
  bool is_named = name != "auto" && name != "none";
  if (!nvidia && is_named && asked.insisted.contains("assembler")) {
    throw Error::of("{} {} is for NVIDIA's GPUs, not for {} {}", name_of("assembler", asked), name,
                    name_of("target", asked), configuration.target);
  }
  if (nvidia && name != "none") wanted.assembler = assembler(name);
  for (const char* key : {"ptxas_level", "max_registers"}) {
    if (wanted.assembler || !asked.insisted.contains(key)) continue;
    if (!nvidia) {
      throw Error::of("{} is for NVIDIA's GPUs, not for {} {}", name_of(key, asked), name_of("target", asked),
                      configuration.target);
    }
    throw Error::of(
        "{} is for an assembler, ptxas or nvJitLink, and {}: the GPU's driver, which compiles PTX when it is run, "
        "chooses by itself",
        name_of(key, asked),
        name == "none" ? name_of("assembler", asked) + " none asks for none" : "there is none on this machine");
  }
  configuration.assembler = wanted.assembler ? wanted.assembler->kind : "";
  if (!asked.given.contains("ptxas_level")) configuration.ptxas_level = configuration.codegen_opt;
  bool limits = configuration.max_registers != 0 || (asked.line == 0 && asked.given.contains("max_registers"));
  if (limits && (configuration.max_registers < kLeastRegisters || configuration.max_registers > kMostRegisters)) {
    throw Error::of("{} takes a number from {} to {}, not {}", name_of("max_registers", asked), kLeastRegisters,
                    kMostRegisters, configuration.max_registers);
  }
}

namespace {

// What `body` does to the key's value; its Error with the key's name ahead.
template <typename Body>
void settle(const char* key, const Asked& asked, Body body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(name_of(key, asked) + " " + error.what(), error.exit());
  }
}

}  // namespace

void Normaliser::settle_processor(const Asked& asked, bundle::Configuration& configuration) const {
  const std::string& target = configuration.target;
  bool host = target.starts_with("host:");
  if (!host) {
    drop(configuration.cpu, "", "cpu", "the host device", asked, target);
  } else {
    drop(configuration.inline_threshold, std::nullopt, "inline_threshold", "GPUs", asked, target);
  }
  if (!target.starts_with("cuda:")) drop(configuration.min_blocks, 0, "min_blocks", "NVIDIA's GPUs", asked, target);
  if (!target.starts_with("hip:")) drop(configuration.code_object, 0, "code_object", "AMD's GPUs", asked, target);
  bool given = configuration.code_object != 0 || (asked.line == 0 && asked.given.contains("code_object"));
  if (target.starts_with("hip:") && given &&
      (configuration.code_object < kFirstCodeObject || configuration.code_object > kLastCodeObject)) {
    throw Error::of("{} takes a version from {} to {}, not {}", name_of("code_object", asked), kFirstCodeObject,
                    kLastCodeObject, configuration.code_object);
  }
  if (configuration.cpu == target.substr(target.find(':') + 1)) configuration.cpu.clear();
  if (!configuration.cpu.empty()) {
    settle("cpu", asked, [&] { codegen::check_cpu(configuration.cpu, target); });
  }
  if (configuration.features.empty()) return;
  try {
    settle("features", asked,
           [&] { configuration.features = codegen::normal_features(configuration.features, target); });
  } catch (const Error&) {
    if (asked.insisted.contains("features")) throw;
    configuration.features.clear();  // of another target's processor
  }
}

void Normaliser::settle_launch(const Asked& asked, bundle::Configuration& configuration) const {
  const std::string& target = configuration.target;
  if (configuration.block && configuration.block->count() > kMostThreads) {
    throw Error::of("{} {} has {} threads, more than the {} that any device has", name_of("block", asked),
                    bundle::text_of(*configuration.block), configuration.block->count(), kMostThreads);
  }
  if (configuration.block && configuration.max_threads && configuration.block->count() > configuration.max_threads) {
    throw Error::of("{} allows {} threads in a block, and {} {} has {}", name_of("max_threads", asked),
                    configuration.max_threads, name_of("block", asked), bundle::text_of(*configuration.block),
                    configuration.block->count());
  }
  bool cuda = target.starts_with("cuda:");
  if (cuda && configuration.block && configuration.block->z > kMostThreadsDeep) {
    throw Error::of("{} {} is deeper than the {} threads that {} has", name_of("block", asked),
                    bundle::text_of(*configuration.block), kMostThreadsDeep, target);
  }
  if (cuda && configuration.grid &&
      (configuration.grid->x > INT32_MAX || configuration.grid->y > kMostBlocksAcross ||
       configuration.grid->z > kMostBlocksAcross)) {
    throw Error::of("{} {} is more than {} has: {}, {} and {}", name_of("grid", asked),
                    bundle::text_of(*configuration.grid), target, INT32_MAX, kMostBlocksAcross, kMostBlocksAcross);
  }
  uint32_t most = codegen::shared_memory_of(target).most;
  if (configuration.shared_mem.value_or(0) > most) {
    throw Error::of("{} {} is more than a block may have on {}: {} bytes", name_of("shared_mem", asked),
                    *configuration.shared_mem, target, most);
  }
  if (configuration.iterations == 0u) throw Error::of("{} takes a number from 1 on", name_of("iterations", asked));
  if (!configuration.instance.empty() && !codegen::is_specialised(configuration)) {
    throw Error::of("{} says whose values code is specialised to, and neither {} nor {} says that it is",
                    name_of("instance", asked), name_of("specialize_args", asked), name_of("specialize_dims", asked));
  }
}

Wanted Normaliser::normalise(Asked asked) {
  Wanted wanted{std::move(asked.configuration), std::nullopt, asked.line};
  bundle::Configuration& configuration = wanted.configuration;
  std::string& target = configuration.target;
  target = target.empty() ? codegen::host::default_target() : codegen::target_named(target);
  if (!target.starts_with("host:")) {
    drop<std::string>(configuration.form, "auto", "form", "the host device", asked, target);
    drop(configuration.check_memory, false, "check_memory", "the host device", asked, target);
    drop<std::string>(configuration.checks, "", "checks", "the host device", asked, target);
    drop(configuration.algebra, false, "algebra", "the host device", asked, target);
    drop(configuration.contract, false, "contract", "the host device", asked, target);
  } else if (recorded_on_gpu_ && !asked.given.contains("fuse") && !asked.given.contains("contract")) {
    configuration.contract = true;
  }
  choose_assembler(asked, wanted);
  settle_processor(asked, configuration);
  settle_launch(asked, configuration);
  settle("fast_math", asked, [&] { configuration.fast_math = codegen::normal_fast_math(configuration.fast_math); });
  settle("checks", asked, [&] { configuration.checks = bundle::normal_checks(configuration.checks); });
  settle("attributes", asked, [&] { configuration.attributes = codegen::normal_attributes(configuration.attributes); });
  settle("specialize_args", asked,
         [&] { configuration.specialize_args = codegen::normal_arguments(configuration.specialize_args); });
  ir::check_plugins(configuration.plugins);
  return wanted;
}

void Normaliser::settle_code(const Asked& asked, bool is_ptx, Wanted& wanted) {
  bundle::Configuration& configuration = wanted.configuration;
  std::string form = asked.configuration.form;
  drop<std::string>(form, "auto", "form", "the host device", asked, configuration.target);
  if (is_ptx) {
    configuration.codegen_opt = asked.configuration.codegen_opt;
    configuration.assembler = asked.configuration.assembler;
    configuration.ptxas_level = asked.configuration.ptxas_level;
    configuration.max_registers = asked.configuration.max_registers;
    choose_assembler(asked, wanted);
    configuration.codegen_opt = 0;
  }
  settle_launch(asked, configuration);
}

std::string place_of(size_t line, const std::string& name) { return fmt::format("line {} of {}", line, name); }

Asked parse_variant(std::string_view line, size_t number, const std::string& name, const Asked& defaults) {
  std::string where = place_of(number, name);
  Asked asked = defaults;
  asked.line = number;
  bundle::Configuration& configuration = asked.configuration;
  asked.insisted = bundle::override_configuration(line, where, configuration);
  asked.given.insert(asked.insisted.begin(), asked.insisted.end());
  if (configuration.passes.empty()) throw Error::of("{}: 'passes' is empty", where);
  if (configuration.baseline) {
    throw Error::of("{}: 'baseline' is for 'mneme-run --baseline', which compiles it by itself", where);
  }
  if (!configuration.code.empty()) {
    throw Error::of("{}: 'code' is for the option --code: leave it out of the line", where);
  }
  if (!configuration.ir.empty() && configuration.ir != defaults.configuration.ir) {
    throw Error::of(
        "{}: 'ir' is empty, for the recorded IR, or the digest of the file of --ir{}", where,
        defaults.configuration.ir.empty() ? ", which is not there" : ", " + defaults.configuration.ir.hex());
  }
  return asked;
}

std::vector<Asked> parse_variants(std::string_view text, const std::string& name, const Asked& defaults) {
  std::vector<Asked> all;
  for (size_t number = 1; !text.empty(); ++number) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    all.push_back(parse_variant(line, number, name, defaults));
  }
  if (all.empty()) throw Error::of("{} holds no configuration: one JSON object a line is expected", name);
  return all;
}

Wanted wanted_by(Asked asked, const std::string& name, const std::string& target, Normaliser& normaliser) {
  size_t line = asked.line;
  if (!asked.insisted.contains("target")) asked.configuration.target = target;
  try {
    return normaliser.normalise(std::move(asked));
  } catch (const Error& error) {
    throw Error(place_of(line, name) + ": " + error.what(), error.exit());
  }
}

std::vector<Wanted> all_wanted_by(const std::vector<Asked>& asked, const std::string& name, const std::string& target,
                                  Normaliser& normaliser) {
  std::vector<Wanted> all;
  std::unordered_set<std::string> known;
  for (const Asked& one : asked) {
    Wanted next = wanted_by(one, name, target, normaliser);
    if (known.insert(bundle::write(next.configuration)).second) all.push_back(std::move(next));
  }
  return all;
}

Wanted wanted_of(const bundle::KernelInfo& kernel, Wanted wanted) {
  std::string& arguments = wanted.configuration.specialize_args;
  arguments = codegen::numbered_arguments(kernel, arguments);
  return wanted;
}

std::vector<Wanted> wanted_of(const bundle::KernelInfo& kernel, const std::vector<Wanted>& all) {
  std::vector<Wanted> of_kernel;
  std::unordered_set<std::string> known;
  for (const Wanted& one : all) {
    Wanted next = wanted_of(kernel, one);
    if (known.insert(bundle::write(next.configuration)).second) of_kernel.push_back(std::move(next));
  }
  return of_kernel;
}

bool launches_otherwise(const bundle::Configuration& configuration) {
  return configuration.grid || configuration.block || configuration.shared_mem ||
         codegen::is_specialised(configuration);
}

}  // namespace mneme::compile
