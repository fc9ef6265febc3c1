// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/ptx.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <utility>

#include "objects/ptx_words.h"
#include "objects/words.h"

namespace mneme::objects {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 40;  // of a variable or a parameter

std::optional<uint64_t> number(std::string_view word) {
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failed == std::errc() && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

// Of ".u64", 8; 0: it is no type of numbers.
uint64_t bytes_of_type(std::string_view word) {
  constexpr std::string_view kTypes[] = {".b", ".u", ".s", ".f", ".bf"};
  if (word == ".f16x2" || word == ".bf16x2") return 4;
  for (std::string_view type : kTypes) {
    if (!word.starts_with(type)) continue;
    const std::optional<uint64_t> bits = number(word.substr(type.size()));
    if (bits && *bits >= 8 && *bits <= 128 && std::has_single_bit(*bits)) return *bits / 8;
  }
  return 0;
}

struct Declaration {
  std::string_view name;
  uint64_t size = 0, align = 1;  // bytes; size 0: it is not understood
};

// Reads on up to one of the characters in `ends`, which becomes `end` ("" where the text ends), from behind the state
// space.
Declaration declaration(PtxWords& words, std::string_view ends, std::string_view& end) {
  Declaration found;
  uint64_t element = 0, count = 1;
  bool understood = true, in_brackets = false, of_target = false;
  while (true) {
    const std::string_view word = words.next();
    if (word.empty() || (word.size() == 1 && ends.find(word) != std::string_view::npos)) {
      end = word;
      break;
    }
    if (word == "[") {
      in_brackets = true;
    } else if (word == "]") {
      in_brackets = false;
    } else if (in_brackets) {
      const std::optional<uint64_t> dimension = number(word);
      understood = understood && dimension && *dimension > 0 && *dimension <= kMostBytes / count;
      if (understood) count *= *dimension;
    } else if (word == ".ptr") {
      of_target = true;  // the alignment that follows is of what it points to
    } else if (word == ".align") {
      const std::optional<uint64_t> align = number(words.next());
      understood = understood && align && *align <= UINT16_MAX && std::has_single_bit(*align);
      if (understood && !of_target) found.align = *align;
    } else if (word == ".v2" || word == ".v4" || word == ".v8") {
      count *= static_cast<uint64_t>(word[2] - '0');
    } else if (const uint64_t bytes = bytes_of_type(word)) {
      element = bytes;
    } else if (word.front() != '.' && is_of_ptx_word(word.front())) {
      found.name = word;
    }
  }
  found.align = std::max(found.align, element);
  if (understood && element > 0 && count <= kMostBytes / element) found.size = element * count;
  return found;
}

// Behind "=" or "{" of a variable, up to the end of its value.
void pass_over_value(PtxWords& words, std::string_view word) {
  while (!word.empty() && word != ";" && word != "{") word = words.next();
  if (word == "{") words.pass_over_braces();
}

}  // namespace

std::optional<Parameters> parameters_behind(PtxWords& words, std::vector<std::string_view>* names) {
  Parameters found;
  std::string_view word = words.next();
  if (word != "(") return found;  // none
  uint64_t offset = 0;
  while ((word = words.next()) == ".param") {
    std::string_view end;
    const Declaration one = declaration(words, ",)", end);
    offset = align_up(offset, one.align);
    if (one.size == 0 || end.empty() || offset + one.size > UINT16_MAX) return std::nullopt;
    found.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(one.size)});
    if (names) names->push_back(one.name);
    offset += one.size;
    if (end == ")") return found;
  }
  return word == ")" && found.empty() ? std::optional(found) : std::nullopt;
}

bool is_ptx(std::string_view text) {
  constexpr size_t kEnough = 64 << 10;  // for comments ahead
  return PtxWords(text.substr(0, kEnough)).next() == ".version";
}

size_t units_of_ptx(std::string_view text) {
  size_t units = 0;
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") words.pass_over_braces();
    units += word == ".version";
  }
  return units;
}

std::string processor_of_ptx(std::string_view text) {
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty() && word != "{"; word = words.next()) {
    if (word == ".target") return std::string(words.next());
  }
  return {};
}

std::optional<Parameters> parameters_in_ptx(std::string_view text, std::string_view kernel) {
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") words.pass_over_braces();
    if (word == ".entry" && words.next() == kernel) return parameters_behind(words);
  }
  return std::nullopt;
}

std::vector<bundle::Global> variables_in_ptx(std::string_view text) {
  std::vector<bundle::Global> found;
  int64_t in_parameters = 0;
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") words.pass_over_braces();
    if (word == "(") ++in_parameters;
    if (word == ")") --in_parameters;
    if (in_parameters != 0 || (word != ".global" && word != ".const")) continue;
    std::string_view end;
    const Declaration one = declaration(words, ";={", end);
    if (one.size > 0 && !one.name.empty()) {
      found.push_back({std::string(one.name), one.size, static_cast<uint32_t>(one.align), word == ".const"});
    }
    if (end == "=" || end == "{") pass_over_value(words, end);
  }
  return found;
}

std::string ptx_of_kernel(std::string_view text, std::string_view kernel) {
  std::string kept;
  size_t copied = 0;
  bool is_other = false;
  PtxWords words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ".entry") {
      is_other = words.next() != kernel;
    } else if (word == ";") {
      is_other = false;
    } else if (word == "{") {
      const size_t begin = words.at() - word.size();
      words.pass_over_braces();
      if (!std::exchange(is_other, false)) continue;
      const std::string_view body = text.substr(begin, words.at() - begin);
      kept.append(text.substr(copied, begin - copied)).append(";");
      kept.append(static_cast<size_t>(std::ranges::count(body, '\n')), '\n');
      copied = words.at();
    }
  }
  return kept.append(text.substr(copied));
}

}  // namespace mneme::objects
