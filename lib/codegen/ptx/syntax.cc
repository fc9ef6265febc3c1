// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/syntax.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include "base/error.h"
#include "codegen/ptx/constants.h"

namespace mneme::codegen::ptx {
namespace {

using llvm::StringRef;

bool is_word(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.'; }

// As far as the bracket that belongs to the first character, which is one; the text begins behind it.
std::optional<StringRef> take_brackets(StringRef& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth > 0) continue;
    StringRef inside = text.slice(1, i);
    text = text.drop_front(i + 1);
    return inside;
  }
  return std::nullopt;
}

StringRef take_word(StringRef& text) {
  text = text.ltrim();
  StringRef word = text.take_while(is_word);
  text = text.drop_front(word.size());
  return word;
}

bool take_number(StringRef text, uint64_t& number) {
  std::optional<uint64_t> value = ptx_integer(text);
  if (value) number = *value;
  return value.has_value();
}

void add_values(StringRef text, llvm::SmallVectorImpl<StringRef>& values) {
  for (StringRef value : split_operands(text)) {
    if (value.starts_with("{") && value.ends_with("}")) {
      add_values(value.drop_front().drop_back(), values);
    } else if (!value.empty()) {
      values.push_back(value);
    }
  }
}

class Parser {
 public:
  explicit Parser(StringRef text) : all_(text), text_(text) {}

  std::vector<PtxFile> run() {
    while (!(text_ = text_.ltrim()).empty()) {
      if (text_.consume_front(";")) continue;
      here_ = text_;
      directive(take_word(text_));
    }
    if (files_.empty()) throw Error("this PTX does not begin with .version");
    return std::move(files_);
  }

 private:
  [[noreturn]] void fail(StringRef what) const {
    StringRef line = here_.take_until([](char c) { return c == '\n'; }).take_front(80);
    throw Error::of("line {} of the PTX ('{}') {}", line_of(all_, here_), line.str(), what.str());
  }

  void directive(StringRef word) {
    if (word == ".version") {
      auto [major, minor] = take_word(text_).split('.');
      PtxFile& file = files_.emplace_back();
      if (major.getAsInteger(10, file.major) || minor.getAsInteger(10, file.minor)) fail("names no version");
    } else if (files_.empty()) {
      throw Error("this PTX does not begin with .version");
    } else if (word == ".target") {
      files_.back().processor = take_word(text_);
      skip_line();
    } else if (word == ".address_size") {
      if (take_word(text_) != "64") fail("is of code for 32 bits, which Mneme does not read");
    } else if (word == ".file" || word == ".loc") {
      skip_line();
    } else if (word == ".section") {
      text_ = text_.drop_until([](char c) { return c == '{'; });
      if (text_.empty() || !take_brackets(text_)) fail("has no end");
    } else if (word == ".alias") {
      StringRef other = take_word(text_);
      text_ = text_.ltrim();
      if (other.empty() || !text_.consume_front(",")) fail("is no alias that Mneme understands");
      files_.back().aliases[other] = take_word(text_);
    } else if (word == ".pragma") {
      text_ = text_.drop_until([](char c) { return c == ';'; });
    } else {
      declaration(word);
    }
  }

  void skip_line() {
    text_ = text_.drop_until([](char c) { return c == '\n'; });
  }

  void declaration(StringRef word) {
    bool is_extern = false, is_visible = false, is_weak = false;
    while (word == ".visible" || word == ".extern" || word == ".weak" || word == ".common") {
      is_extern |= word == ".extern";
      is_visible |= word != ".extern";
      is_weak |= word == ".weak" || word == ".common";
      word = take_word(text_);
    }
    if (word == ".entry" || word == ".func") return function(word == ".entry", is_visible, is_weak);
    static constexpr StringRef kSpaces[] = {".global", ".const", ".shared", ".shared::cta", ".local"};
    if (!llvm::is_contained(kSpaces, word)) fail("is nothing that Mneme knows of PTX");
    size_t end = text_.find(';');
    if (end == StringRef::npos) fail("has no end");
    PtxVariable variable;
    variable.space = word.drop_front().split(':').first;
    variable.is_extern = is_extern;
    variable.is_visible = is_visible;
    variable.is_weak = is_weak;
    if (!parse_variable(text_.take_front(end), variable)) fail("declares no variable that Mneme understands");
    files_.back().variables.push_back(std::move(variable));
    text_ = text_.drop_front(end + 1);
  }

  void function(bool is_kernel, bool is_visible, bool is_weak) {
    size_t end = text_.find_first_of("{;");
    if (end == StringRef::npos) fail("has no end");
    PtxFunction function;
    function.is_kernel = is_kernel;
    function.is_visible = is_visible;
    function.is_weak = is_weak;
    function.is_defined = text_[end] == '{';
    if (!parse_signature(text_.take_front(end), function)) fail("declares no function that Mneme understands");
    text_ = text_.drop_front(end);
    if (function.is_defined) {
      std::optional<StringRef> body = take_brackets(text_);
      if (!body) fail("has no end");
      StringRef wrong;
      auto statements = parse_ptx(*body, &wrong);
      if (!statements) {
        here_ = wrong;
        fail("is no statement");
      }
      function.body = std::move(*statements);
    }
    files_.back().functions.push_back(std::move(function));
  }

  StringRef all_, text_, here_;
  std::vector<PtxFile> files_;
};

bool parse_variables(StringRef text, std::vector<PtxVariable>& variables) {
  if (text.trim().empty()) return true;
  for (StringRef one : split_operands(text)) {
    PtxVariable variable;
    StringRef space = take_word(one);
    if (space != ".param" && space != ".reg") return false;
    variable.space = space.drop_front();
    if (!parse_variable(one, variable)) return false;
    variables.push_back(std::move(variable));
  }
  return true;
}

// ".maxntid 256, 1, 1", ".noreturn"
bool parse_limits(StringRef text, PtxFunction& function) {
  for (text = text.trim(); !text.empty(); text = text.ltrim()) {
    StringRef name = take_word(text);
    if (!name.consume_front(".")) return false;
    auto& numbers = function.limits[name];
    if (name == "pragma") return true;
    for (StringRef number : split_operands(text.take_until([](char c) { return c == '.'; }))) {
      uint64_t value = 0;
      if (number.empty()) break;
      if (!take_number(number, value)) return false;
      numbers.push_back(value);
    }
    text = text.drop_until([](char c) { return c == '.'; });
  }
  return true;
}

}  // namespace

unsigned line_of(StringRef text, StringRef piece) {
  size_t at = static_cast<size_t>(piece.data() - text.data());
  return static_cast<unsigned>(text.take_front(at).count('\n')) + 1;
}

bool parse_variable(StringRef text, PtxVariable& variable) {
  text = text.trim();
  bool typed = false;
  while (text.starts_with(".")) {
    StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '.' || c == '_' || c == ':'; });
    text = text.drop_front(word.size()).ltrim();
    llvm::SmallVector<StringRef, 4> parts;  // also ".align.b8"
    word.drop_front().split(parts, '.');
    for (StringRef part : parts) {
      if (part == "align") {
        if (text.consumeInteger(10, variable.align) || variable.align > 1024 || !llvm::isPowerOf2_64(variable.align)) {
          return false;
        }
        text = text.ltrim();
      } else if (part == "attribute") {
        if (!text.starts_with("(") || !take_brackets(text)) return false;
        text = text.ltrim();
      } else if (part == "v2" || part == "v4") {
        variable.vector = part == "v2" ? 2 : 4;
      } else if (part == "ptr") {  // ".ptr .global": of a parameter, where it leads
        for (StringRef space : {".global", ".shared", ".const", ".local"}) text.consume_front(space);
        text = text.ltrim();
      } else if (std::optional<PtxType> type = PtxType::parse(part)) {
        variable.type = *type;
        typed = true;
      } else {
        return false;
      }
    }
  }
  variable.name = take_word(text);
  text = text.ltrim();
  while (text.starts_with("[")) {
    std::optional<StringRef> size = take_brackets(text);
    uint64_t count = 0;
    if (!size || (!size->trim().empty() && !take_number(*size, count))) return false;
    variable.count *= count;
    if (variable.count > uint64_t{1} << 32) return false;
    variable.is_array = true;
    text = text.ltrim();
  }
  if (text.consume_front("=")) {
    text = text.trim();
    bool braces = text.consume_front("{");
    if (braces && !text.consume_back("}")) return false;
    add_values(text, variable.values);
    text = "";
  }
  return typed && !variable.name.empty() && text.empty() && variable.values.size() <= variable.count * variable.vector;
}

bool parse_signature(StringRef text, PtxFunction& function) {
  text = text.ltrim();
  if (text.starts_with("(")) {
    std::optional<StringRef> results = take_brackets(text);
    if (!results || !parse_variables(*results, function.results)) return false;
  }
  function.name = take_word(text);
  text = text.ltrim();
  if (text.starts_with("(")) {
    std::optional<StringRef> parameters = take_brackets(text);
    if (!parameters || !parse_variables(*parameters, function.parameters)) return false;
  }
  return !function.name.empty() && parse_limits(text, function);
}

std::vector<PtxFile> parse_files(StringRef text) { return Parser(text).run(); }

}  // namespace mneme::codegen::ptx
