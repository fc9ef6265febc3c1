// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "wanted.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "bundle/configuration.h"
#include "codegen/compile.h"
#include "codegen/host/host.h"

namespace mneme::compile {
namespace {

constexpr uint32_t kLeastRegisters = 16, kMostRegisters = 255;  // as the assembler has them

// The key as it was given: 'max_registers', --max-registers.
std::string name_of(const std::string& key, const Asked& asked) {
  if (asked.line) return "'" + key + "'";
  std::string option = "--" + key;
  std::ranges::replace(option, '_', '-');
  return option;
}

// A value that has no meaning for the target: refused where it was insisted on, else as if it had not been given.
template <typename Value>
void drop(Value& value, const Value& unset, const char* key, const char* whose, const Asked& asked,
          const std::string& target) {
  if (value != unset && asked.insisted.contains(key)) {
    throw Error::of("{} is for {}, not for {} {}", name_of(key, asked), whose, name_of("target", asked), target);
  }
  value = unset;
}

}  // namespace

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

Wanted Normaliser::normalise(Asked asked) {
  Wanted wanted{std::move(asked.configuration), std::nullopt, asked.line};
  bundle::Configuration& configuration = wanted.configuration;
  std::string& target = configuration.target;
  target = target.empty() ? codegen::host::default_target() : codegen::target_named(target);
  if (!target.starts_with("host:")) {
    drop<std::string>(configuration.form, "auto", "form", "the host device", asked, target);
    drop(configuration.check_memory, false, "check_memory", "the host device", asked, target);
  }
  choose_assembler(asked, wanted);
  return wanted;
}

namespace {

Asked asked_by(std::string_view line, const std::string& where, size_t number, const Asked& defaults) {
  Asked asked = defaults;
  asked.line = number;
  bundle::Configuration& configuration = asked.configuration;
  asked.insisted = bundle::override_configuration(line, where, configuration);
  asked.given.insert(asked.insisted.begin(), asked.insisted.end());
  if (configuration.passes.empty()) throw Error::of("{}: 'passes' is empty", where);
  if (configuration.baseline) {
    throw Error::of("{}: 'baseline' is for 'mneme-run --baseline', which compiles it by itself", where);
  }
  if (!configuration.ir.empty() && configuration.ir != defaults.configuration.ir) {
    throw Error::of(
        "{}: 'ir' may be empty, for the recorded IR, or the digest of what --ir gives{}", where,
        defaults.configuration.ir.empty() ? ", which is not there" : ", " + defaults.configuration.ir.hex());
  }
  return asked;
}

}  // namespace

std::vector<Wanted> read_variants(std::string_view text, const std::string& name, const Asked& defaults,
                                  Normaliser& normaliser) {
  std::vector<Wanted> wanted;
  std::unordered_set<std::string> known;
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string where = fmt::format("line {} of {}", number, name);
    Asked asked = asked_by(line, where, number, defaults);
    try {
      Wanted next = normaliser.normalise(std::move(asked));
      if (known.insert(bundle::write(next.configuration)).second) wanted.push_back(std::move(next));
    } catch (const Error& error) {
      throw Error(where + ": " + error.what(), error.exit());
    }
  }
  if (wanted.empty()) throw Error::of("{} has no configuration in it: a line of json each is expected", name);
  return wanted;
}

}  // namespace mneme::compile
