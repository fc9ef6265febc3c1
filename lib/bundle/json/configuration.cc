// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A configuration's json: one table of its keys, by which it is written, and read in full and in part.
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "base/error.h"
#include "bundle/configuration.h"
#include "bundle/json/dimensions.h"
#include "bundle/json/json.h"

namespace mneme::bundle {
namespace {

using Texts = std::vector<std::string_view>;
using Number = std::optional<uint32_t>;
using Dimensions = std::optional<Dim3>;
using Member =
    std::variant<std::string Configuration::*, int Configuration::*, uint32_t Configuration::*, bool Configuration::*,
                 Digest Configuration::*, Number Configuration::*, Dimensions Configuration::*>;

constexpr uint32_t kMaxLevel = 3;
constexpr uint32_t kMaxThreads = 1024;  // of a block, on every device
constexpr uint32_t kMaxResident = 64;   // blocks of a multiprocessor, likewise more than any has
constexpr uint32_t kMaxCodeObject = 6;  // the latest version that there is code for
constexpr uint32_t kMaxThreshold = INT32_MAX;
constexpr uint32_t kMaxExecutions = 1'000'000;

// When a configuration has a key. All but `kAlways` keeps what variants were called before there was such a key.
enum class When { kAlways, kIfSet, kIfAssembled, kIfAssembledAndSet };

struct Key {
  const char* name;
  Member member;
  When when = When::kAlways;
  uint32_t most = 0;   // of a number
  Texts choices = {};  // of a text, where a configuration may have no other
  Texts in_part = {};  // of a text, where a part of a configuration may have no other
};

// In the order of the json. A new key is a line here and a member of Configuration.
const std::vector<Key>& keys() {
  static const std::vector<Key> kKeys = {
      {"target", &Configuration::target},
      {"passes", &Configuration::passes},
      {"codegen_opt", &Configuration::codegen_opt, When::kAlways, kMaxLevel},
      {"form", &Configuration::form, When::kAlways, 0, {}, {"auto", "loop", "fiber"}},
      {"fuse", &Configuration::fuse},
      {"ir", &Configuration::ir},
      {"check_memory", &Configuration::check_memory, When::kIfSet},
      {"baseline", &Configuration::baseline, When::kIfSet},
      {"assembler",
       &Configuration::assembler,
       When::kIfSet,
       0,
       {"ptxas", "nvjitlink"},
       {"auto", "ptxas", "nvjitlink", "none"}},
      {"ptxas_level", &Configuration::ptxas_level, When::kIfAssembled, kMaxLevel},
      {"max_registers", &Configuration::max_registers, When::kIfAssembledAndSet, json::kMaxRegisters},
      {"cpu", &Configuration::cpu, When::kIfSet},
      {"features", &Configuration::features, When::kIfSet},
      {"code_object", &Configuration::code_object, When::kIfSet, kMaxCodeObject},
      {"max_threads", &Configuration::max_threads, When::kIfSet, kMaxThreads},
      {"min_blocks", &Configuration::min_blocks, When::kIfSet, kMaxResident},
      {"unroll_threshold", &Configuration::unroll_threshold, When::kIfSet, kMaxThreshold},
      {"inline_threshold", &Configuration::inline_threshold, When::kIfSet, kMaxThreshold},
      {"fast_math", &Configuration::fast_math, When::kIfSet},
      {"attributes", &Configuration::attributes, When::kIfSet},
      {"plugins", &Configuration::plugins, When::kIfSet},
      {"grid", &Configuration::grid, When::kIfSet, UINT32_MAX},
      {"block", &Configuration::block, When::kIfSet, kMaxThreads},
      {"shared_mem", &Configuration::shared_mem, When::kIfSet, json::kMaxSharedBytes},
      {"specialize_args", &Configuration::specialize_args, When::kIfSet},
      {"specialize_dims", &Configuration::specialize_dims, When::kIfSet},
      {"instance", &Configuration::instance, When::kIfSet},
      {"warmup", &Configuration::warmup, When::kIfSet, kMaxExecutions},
      {"iterations", &Configuration::iterations, When::kIfSet, kMaxExecutions},
      {"contract", &Configuration::contract, When::kIfSet},
      {"code", &Configuration::code, When::kIfSet},
      {"checks", &Configuration::checks, When::kIfSet},
      {"opt_bisect", &Configuration::opt_bisect, When::kIfSet, kMaxThreshold},
      {"llvm", &Configuration::llvm, When::kIfSet},
      {"algebra", &Configuration::algebra, When::kIfSet},
  };
  return kKeys;
}

bool is_set(const Key& key, const Configuration& configuration) {
  static const Configuration kUnset;
  return std::visit([&](auto member) { return configuration.*member != kUnset.*member; }, key.member);
}

// Whether its json has the key, or may have it.
bool applies(const Key& key, const Configuration& configuration) {
  bool assembled = !configuration.assembler.empty();
  return key.when == When::kAlways || key.when == When::kIfSet || assembled;
}

bool optional(const Key& key) { return key.when == When::kIfSet || key.when == When::kIfAssembledAndSet; }

std::string text_of_choice(const json::Object& in, const char* key, const Texts& choices) {
  std::string text = in.text(key);
  // It would end what it is given to: LLVM's options, and messages.
  if (text.find('\0') != std::string::npos) in.fail(key, "has a null character in it");
  if (choices.empty() || std::ranges::find(choices, text) != choices.end()) return text;
  in.fail(key, fmt::format("is '{}', which this version does not know: it may be {}", text.substr(0, 80),
                           fmt::join(choices, ", ")));
}

template <typename Value>
void write(json::Text& out, const char* key, const Value& value) {
  if constexpr (std::is_same_v<Value, Number>) {
    out.add(key, *value);
  } else if constexpr (std::is_same_v<Value, Dimensions>) {
    json::add_dimensions(out, key, *value);
  } else {
    out.add(key, value);
  }
}

// For people; empty: false, or nothing.
template <typename Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<Value, bool>) {
    return value ? "true" : "";
  } else if constexpr (std::is_same_v<Value, Digest>) {
    return value.empty() ? "" : value.hex();
  } else if constexpr (std::is_same_v<Value, Number>) {
    return value ? fmt::to_string(*value) : "";
  } else if constexpr (std::is_same_v<Value, Dimensions>) {
    return value ? json::dimensions_text(*value) : "";
  } else {
    return fmt::to_string(value);
  }
}

void read(const json::Object& in, const Key& key, bool in_part, Configuration& configuration) {
  std::visit(
      [&](auto member) {
        auto& value = configuration.*member;
        using Value = std::remove_reference_t<decltype(value)>;
        if (in_part && optional(key) && key.in_part.empty() && in.null(key.name)) {
          value = Value{};
        } else if constexpr (std::is_same_v<Value, std::string>) {
          value = text_of_choice(in, key.name, in_part && !key.in_part.empty() ? key.in_part : key.choices);
        } else if constexpr (std::is_same_v<Value, bool>) {
          value = in.boolean(key.name);
        } else if constexpr (std::is_same_v<Value, Digest>) {
          value = in.digest_or_empty(key.name);
        } else if constexpr (std::is_same_v<Value, Number>) {
          value = in.number32(key.name, key.most);
        } else if constexpr (std::is_same_v<Value, Dimensions>) {
          value = json::dimensions(in, key.name, key.most);
        } else {
          value = static_cast<Value>(in.number(key.name, key.most));
        }
      },
      key.member);
}

}  // namespace

void write_configuration(json::Text& out, const Configuration& configuration) {
  for (const Key& key : keys()) {
    if (!applies(key, configuration) || (optional(key) && !is_set(key, configuration))) continue;
    std::visit([&](auto member) { write(out, key.name, configuration.*member); }, key.member);
  }
}

std::vector<std::pair<std::string, std::string>> settings_of(const Configuration& configuration) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const Key& key : keys()) {
    if (!applies(key, configuration) || (optional(key) && !is_set(key, configuration))) continue;
    std::string text = std::visit([&](auto member) { return text_of(configuration.*member); }, key.member);
    if (!text.empty()) settings.emplace_back(key.name, std::move(text));
  }
  return settings;
}

Configuration read_configuration(const json::Object& in) {
  Configuration configuration;
  for (const Key& key : keys()) {
    if (!applies(key, configuration) || (optional(key) && !in.has(key.name))) continue;
    read(in, key, /*in_part=*/false, configuration);
  }
  return configuration;
}

std::string write(const Configuration& configuration) {
  json::Text out;
  out.open();
  write_configuration(out, configuration);
  return out.close().text();
}

Configuration parse_configuration(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  return read_configuration(json::Object(document));
}

std::set<std::string> override_configuration(std::string_view text, const std::string& where,
                                             Configuration& configuration) {
  json::Document document(text, where);
  json::Object in(document);
  std::set<std::string> given;
  for (const std::string& name : in.keys()) {
    auto key = std::ranges::find(keys(), name, &Key::name);
    if (key == keys().end()) {
      std::vector<std::string_view> known;
      for (const Key& each : keys()) known.push_back(each.name);
      throw Error::of("{}: no configuration has the key '{}'; there are {}", where, name.substr(0, 80),
                      fmt::join(known, ", "));
    }
    if (!given.insert(name).second) in.fail(key->name, "is there twice");
    read(in, *key, /*in_part=*/true, configuration);
  }
  return given;
}

Digest variant_id(const Digest& kernel, const Configuration& configuration) {
  DigestStream stream;
  stream.add(kernel.hex());
  stream.add(write(configuration));
  return stream.finish();
}

}  // namespace mneme::bundle
