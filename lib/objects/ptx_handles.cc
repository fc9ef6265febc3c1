// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects/ptx_handles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "objects/ptx_words.h"

namespace mneme::objects {
namespace {

using Words = std::vector<std::string_view>;
using std::string_view;

constexpr uint32_t kHandleBytes = 8;
constexpr std::initializer_list<string_view> kOfTextures = {"tex", "tld4", "txq"};
constexpr std::initializer_list<string_view> kOfSurfaces = {"suld", "sust", "sured", "suq"};

string_view operation(string_view name) { return name.substr(0, name.find('.')); }

bool is_one_of(string_view word, std::initializer_list<string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Where a register's value comes from.
struct Source {
  enum Kind { kRegister, kParameter, kAddress, kElsewhere };  // kAddress: of a parameter
  Kind kind = kElsewhere;
  string_view name;     // of a register or a parameter
  uint32_t offset = 0;  // within the parameter, or behind an address in a register
};

class Body {
 public:
  Body(const Parameters& parameters, const Words& names) {
    for (size_t i = 0; i < names.size(); ++i) parameters_[names[i]] = parameters[i];
  }

  // Without its semicolon.
  void add(Words words) {
    while (words.size() > 1 && words[1] == ":" && (words.size() == 2 || words[2] != ":")) {
      words.erase(words.begin(), words.begin() + 2);  // a label
    }
    if (!words.empty() && words[0] == "@") {
      const size_t guard = words.size() > 1 && words[1] == "!" ? 3 : 2;
      words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(std::min(guard, words.size())));
    }
    if (words.empty() || words[0].front() == '.') return;
    const string_view name = words[0];
    if (operation(name) == "call") return add_call(words);
    if (is_one_of(operation(name), kOfTextures)) uses_.emplace_back(address_in(words), false);
    if (is_one_of(operation(name), kOfSurfaces)) uses_.emplace_back(address_in(words), true);
    define(words);
  }

  std::optional<std::vector<bundle::Handle>> take() {
    if (calls_) return std::nullopt;
    for (const auto& [handle, surface] : uses_) {
      surface_ = surface;
      follow(handle);
    }
    std::vector<bundle::Handle> handles;
    for (const auto& [argument, surface] : found_) {
      const bool as_both = argument >= 0 && found_.contains({argument, !surface});
      if (!as_both || !surface) handles.push_back({as_both ? -1 : argument, surface});
    }
    return handles;
  }

 private:
  // "[%rd1, {%r1}]": "%rd1"; empty: there is none.
  static string_view address_in(const Words& words) {
    auto bracket = std::ranges::find(words, "[");
    return words.end() - bracket > 1 ? *std::next(bracket) : string_view();
  }

  void add_call(const Words& words) {
    size_t name = 1;
    if (words.size() > 1 && words[1] == "(") {  // "call (result), name, …"
      name = static_cast<size_t>(std::ranges::find(words, ")") - words.begin()) + 2;
    }
    calls_ |= name >= words.size() || !is_one_of(words[name], {"vprintf", "malloc", "free", "__assertfail"});
  }

  void define(const Words& words) {
    if (words.size() < 2 || words[1] == "[") return;
    if (words[1] != "{") {
      sources_[words[1]].push_back(source(words, 0));
      return;
    }
    uint32_t element = 0;
    for (size_t i = 2; i < words.size() && words[i] != "}"; ++i) {
      if (words[i] != ",") sources_[words[i]].push_back(source(words, element++));
    }
  }

  // "ld.param.u64 %rd1, [name+8]", "mov.b64 %rd1, name", "mov.b64 %rd1, %rd2"
  static Source source(const Words& words, uint32_t element) {
    const string_view name = words[0];
    const bool is_word = name.ends_with("64");
    if (is_word && name.starts_with("ld.param.")) {
      auto at = std::ranges::find(words, "[");
      uint32_t offset = 0;
      if (words.end() - at > 4 && at[2] == "+") std::from_chars(at[3].data(), at[3].data() + at[3].size(), offset);
      return {Source::kParameter, address_in(words), offset + element * kHandleBytes};
    }
    const bool moves = is_word && operation(name) == "mov" && words.size() == 4 && words[1] != "{";
    if (!moves) return {};
    return {words[3].starts_with('%') ? Source::kRegister : Source::kAddress, words[3], 0};
  }

  void follow(string_view handle) {
    Words open{handle};
    while (!open.empty()) {
      const string_view name = open.back();
      open.pop_back();
      const auto known = sources_.find(name);
      if (known == sources_.end()) {
        add_elsewhere();
      } else if (seen_.insert({name, surface_}).second) {
        for (const Source& source : known->second) add(source, open);
      }
    }
  }

  void add(const Source& source, Words& open) {
    if (source.kind == Source::kRegister) return open.push_back(source.name);
    if (source.kind == Source::kParameter) return add_parameter(source);
    add_elsewhere();
  }

  void add_parameter(Source source) {
    if (source.name.starts_with('%')) {  // an address, which has to be of one parameter
      const auto address = sources_.find(source.name);
      if (address == sources_.end() || address->second.size() != 1 || address->second[0].kind != Source::kAddress) {
        return add_elsewhere();
      }
      source.name = address->second[0].name;
    }
    const auto parameter = parameters_.find(source.name);
    if (parameter == parameters_.end() || source.offset + kHandleBytes > parameter->second.size) return add_elsewhere();
    found_.insert({int64_t{parameter->second.offset} + source.offset, surface_});
  }

  void add_elsewhere() { found_.insert({-1, false}); }

  std::map<string_view, Parameter> parameters_;
  std::map<string_view, std::vector<Source>> sources_;  // of registers
  std::vector<std::pair<string_view, bool>> uses_;      // of handles; whether of surfaces
  bool calls_ = false;
  bool surface_ = false;  // of the use in hand
  std::set<std::pair<string_view, bool>> seen_;
  std::set<std::pair<int64_t, bool>> found_;  // argument, surface
};

// Behind the opening brace.
std::optional<std::vector<bundle::Handle>> handles_in_body(PtxWords& words, Body body) {
  Words statement;
  size_t depth = 1;
  for (string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == ";") {
      body.add(std::exchange(statement, {}));
    } else if (statement.empty() && word == "{") {
      ++depth;
    } else if (statement.empty() && word == "}") {
      if (--depth == 0) return body.take();
    } else {
      statement.push_back(word);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<bundle::Handle>> handles_in_ptx(string_view text, string_view kernel) {
  PtxWords words(text);
  for (string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word == "{") words.pass_over_braces();
    if (word != ".entry" || words.next() != kernel) continue;
    std::vector<string_view> names;
    const std::optional<Parameters> parameters = parameters_behind(words, &names);
    if (!parameters) return std::nullopt;
    while (!word.empty() && word != "{" && word != ";") word = words.next();
    if (word == "{") return handles_in_body(words, {*parameters, names});
  }
  return std::nullopt;
}

bool uses_textures_in_ptx(string_view text) {
  PtxWords words(text);
  for (string_view word = words.next(); !word.empty(); word = words.next()) {
    if (word.find('.') == string_view::npos) continue;
    if (is_one_of(operation(word), kOfTextures) || is_one_of(operation(word), kOfSurfaces)) return true;
  }
  return false;
}

}  // namespace mneme::objects
