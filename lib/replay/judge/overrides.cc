// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/overrides.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "base/file.h"
#include "bundle/json/json.h"
#include "cli/stage.h"

namespace mneme::verify {
namespace {

double parse_threshold(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0)) throw Error::of("'{}' is not a number of 0 or more", text);
  return value;
}

template <class Value>
Value parse_name(const std::string& text, std::initializer_list<Value> values) {
  std::string names;
  for (Value value : values) {
    if (name_of(value) == text) return value;
    names += (names.empty() ? "" : ", ") + std::string(name_of(value));
  }
  throw Error::of("'{}' is none of {}", text, names);
}

double parse_scale(const std::string& text) {
  double value = parse_threshold(text);
  if (!(value > 0 && std::isfinite(value))) throw Error::of("'{}' is not a number above 0", text);
  return value;
}

constexpr std::string_view kKeys[] = {"segment", "dtype", "kind", "norm", "threshold", "scale"};

// `key` is one of kKeys; as the command line has it after "--".
void set(Override& over, std::string_view key, const std::string& text) {
  if (key == "segment") {
    over.segment = text;
  } else if (key == "dtype") {
    over.type = element_type(text);
    if (!over.type) throw Error::of("'{}' is none of u8, i8, ... u64, i64, f16, bf16, f32, f64, cf32, cf64", text);
  } else if (key == "kind") {
    over.kind = parse_name(text, {Kind::kAbsolute, Kind::kRelative, Kind::kScaled, Kind::kUlp});
  } else if (key == "norm") {
    over.norm = parse_name(text, {Norm::kNone, Norm::kL1, Norm::kL2, Norm::kLinf});
  } else if (key == "scale") {
    over.scale = parse_scale(text);
  } else {
    over.threshold = parse_threshold(text);
  }
}

bool says_nothing(const Override& over) {
  return !over.type && !over.kind && !over.norm && !over.threshold && !over.scale;
}

Override parse_override(std::string_view line, const std::string& where) {
  bundle::json::Document document(line, where);
  bundle::json::Object in(document);
  Override over;
  std::set<std::string> given;
  for (const std::string& key : in.keys()) {
    if (!given.insert(key).second) in.fail(key.c_str(), "is there twice");
    if (std::ranges::find(kKeys, key) == std::end(kKeys)) {
      throw Error::of("{}: '{}' is none of {}", where, key.substr(0, 80), fmt::join(kKeys, ", "));
    }
    if (key == "threshold" || key == "scale") continue;  // a number
    try {
      set(over, key, in.text(key.c_str()));
    } catch (const Error& error) {
      std::string_view problem = error.what();
      if (problem.starts_with(where)) throw;
      throw Error::of("{}: '{}': {}", where, key, problem);
    }
  }
  if (in.has("threshold")) over.threshold = in.real("threshold");
  if (over.threshold && !(*over.threshold >= 0)) in.fail("threshold", "is negative");
  if (in.has("scale")) over.scale = in.real("scale");
  if (over.scale && !(*over.scale > 0 && std::isfinite(*over.scale))) in.fail("scale", "is not a number above 0");
  if (in.has("segment") && over.segment.empty()) in.fail("segment", "is empty: without it, all segments are meant");
  if (says_nothing(over)) throw Error::of("{}: give dtype, kind, norm, threshold or scale", where);
  return over;
}

}  // namespace

void OverrideOptions::add_options(cli::Options& options) {
  options.values("--segment", segments_, "TAG|SYMBOL|ADDRESS",
                 "judge this segment as the options behind it say; may be repeated. Before any --segment they are "
                 "about every segment of which the type is known");
  options.values("--dtype", types_, "TYPE", "element type: u8, i8, ... i64, f16, bf16, f32, f64, cf32, cf64");
  options.values("--kind", kinds_, "KIND", "of error: absolute, relative, scaled or ulp");
  options.values("--norm", norms_, "NORM", "of the errors: none (each), l1, l2 or linf");
  options.values("--threshold", thresholds_, "ERROR", "the largest that passes");
  options.values("--scale", scales_, "NUMBER",
                 "the scale of scaled errors (default: the root mean square of the recorded elements)");
  options.value("--policies", file_, "FILE", "read such judgements from FILE, one json object a line");
}

std::vector<Override> OverrideOptions::overrides(const cli::Options& options) const {
  std::vector<Override> all;
  cli::keep_as_input(file_);
  if (!file_.empty()) all = parse_overrides(read_file(file_), file_);
  bool begun = false;
  for (const auto& [option, text] :
       options.in_order({"--segment", "--dtype", "--kind", "--norm", "--threshold", "--scale"})) {
    if (!begun || option == "--segment") all.emplace_back();
    begun = true;
    try {
      set(all.back(), std::string_view(option).substr(2), text);
    } catch (const Error& error) {
      throw Error::of("{}: {}", option, error.what());
    }
  }
  for (const Override& over : all) {
    if (!says_nothing(over)) continue;
    throw Error::of("--segment {}: give --dtype, --kind, --norm, --threshold or --scale after it", over.segment);
  }
  return all;
}

std::vector<Override> parse_overrides(std::string_view text, const std::string& where) {
  std::vector<Override> overrides;
  for (size_t line = 1; !text.empty(); line++) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    overrides.push_back(parse_override(one, fmt::format("{}, line {}", where, line)));
  }
  return overrides;
}

void check_met(const std::vector<Override>& overrides) {
  for (const Override& over : overrides) {
    if (over.met || over.segment.empty()) continue;
    throw Error::of("no run has a segment '{}': give a tag, a variable's symbol, or an address as the report has it",
                    over.segment);
  }
}

}  // namespace mneme::verify
