// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/amdgpu/gcn/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

bool is_blank(char c) { return llvm::isSpace(c); }

// Words that stand for themselves behind the operands. Others that look like them ("off", "vcc") are operands.
constexpr StringRef kFlags[] = {"glc",   "slc", "dlc", "sc0", "sc1",   "nt",         "scc_flag",        "offen",
                                "idxen", "lds", "tfe", "gds", "clamp", "row_mirror", "row_half_mirror", "addr64"};

std::string without_c_comments(StringRef text) {
  std::string plain;
  while (!text.empty()) {
    auto [before, behind] = text.split("/*");
    plain += before;
    if (before.size() == text.size()) break;
    plain += ' ';
    text = behind.split("*/").second;
  }
  return plain;
}

// "quad_perm:[0,1,2,3]" has a colon in front of any bracket; "s[0:1]" has not.
bool is_modifier(StringRef word) {
  if (llvm::is_contained(kFlags, word)) return true;
  return !word.empty() && llvm::isAlpha(word.front()) && word.find(':') < word.find_first_of("[(|");
}

llvm::SmallVector<StringRef, 8> words_of(StringRef text) {
  llvm::SmallVector<StringRef, 8> words;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if ((c != ',' && !is_blank(c)) || (depth > 0 && i < text.size())) continue;
    if (i > begin) words.push_back(text.slice(begin, i));
    begin = i + 1;
  }
  return words;
}

void add_word(GcnStatement& statement, StringRef word) {
  if (!is_modifier(word)) {
    statement.operands.push_back(word.str());
    return;
  }
  auto [name, value] = word.split(':');
  statement.modifiers[name] = value.str();
}

// Of "name:" at the beginning, the name's characters; 0: there is none.
size_t label_size(StringRef line) {
  StringRef name = line.take_while([](char c) { return llvm::isAlnum(c) || StringRef("_.$@").contains(c); });
  return line.drop_front(name.size()).starts_with(":") ? name.size() : 0;
}

std::optional<GcnStatement> parse_statement(StringRef line) {
  GcnStatement statement;
  StringRef name = line.take_until(is_blank);
  if (name.starts_with(".")) return std::nullopt;
  statement.name = name.lower();
  StringRef plain = statement.name;
  for (StringRef encoding : {"_dpp8", "_dpp", "_sdwa", "_e32", "_e64"}) plain.consume_back(encoding);
  statement.name.resize(plain.size());
  llvm::SmallVector<StringRef, 8> words = words_of(line.drop_front(name.size()));
  // "offset: 16": the value may stand apart.
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].ends_with(":") && i + 1 < words.size()) {
      add_word(statement, (words[i] + words[i + 1]).str());
      ++i;
    } else {
      add_word(statement, words[i]);
    }
  }
  return statement;
}

}  // namespace

std::optional<int64_t> GcnStatement::number(StringRef modifier, int64_t otherwise) const {
  auto found = modifiers.find(modifier);
  if (found == modifiers.end()) return otherwise;
  int64_t value = 0;
  if (StringRef(found->second).getAsInteger(0, value)) return std::nullopt;
  return value;
}

llvm::SmallVector<uint32_t, 8> GcnStatement::list(StringRef modifier) const {
  auto found = modifiers.find(modifier);
  llvm::SmallVector<uint32_t, 8> values;
  if (found == modifiers.end()) return values;
  StringRef text = found->second;
  if (!text.consume_front("[") || !text.consume_back("]")) return values;
  llvm::SmallVector<StringRef, 8> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    uint32_t value = 0;
    if (part.trim().getAsInteger(0, value)) return {};
    values.push_back(value);
  }
  return values;
}

std::optional<uint32_t> GcnStatement::bits(StringRef modifier, uint32_t otherwise) const {
  if (!has(modifier)) return otherwise;
  uint32_t result = 0;
  llvm::SmallVector<uint32_t, 8> values = list(modifier);
  if (values.empty() || values.size() > 4) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 1) return std::nullopt;
    result |= values[i] << i;
  }
  return result;
}

std::optional<std::vector<GcnStatement>> parse_gcn(StringRef text) {
  std::string plain = without_c_comments(text);
  llvm::SmallVector<StringRef, 4> lines;
  StringRef(plain).split(lines, '\n');
  std::vector<GcnStatement> statements;
  for (StringRef line : lines) {
    for (StringRef comment : {";", "//"}) line = line.split(comment).first;
    line = line.trim();
    while (size_t size = label_size(line)) {
      GcnStatement label;
      label.name = line.take_front(size).str();
      label.is_label = true;
      statements.push_back(std::move(label));
      line = line.drop_front(size + 1).ltrim();
    }
    if (line.empty()) continue;
    std::optional<GcnStatement> statement = parse_statement(line);
    if (!statement) return std::nullopt;
    statements.push_back(std::move(*statement));
  }
  return statements;
}

std::optional<size_t> find_label(llvm::ArrayRef<GcnStatement> statements, size_t from, StringRef name) {
  auto is_it = [&](size_t i) { return statements[i].is_label && statements[i].name == name; };
  const bool back = name.ends_with("b");
  const bool numbered =
      name.size() > 1 && llvm::all_of(name.drop_back(), llvm::isDigit) && (back || name.ends_with("f"));
  if (numbered) {
    name = name.drop_back();
    for (size_t i = from; back ? i-- > 0 : ++i < statements.size();) {
      if (is_it(i)) return i;
    }
    return std::nullopt;
  }
  std::optional<size_t> found;
  for (size_t i = 0; i < statements.size(); ++i) {
    if (!is_it(i)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace mneme::codegen::host
