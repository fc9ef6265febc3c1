// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/ptx/text.h"

#include <llvm/ADT/StringExtras.h>

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;

bool is_space(char c) { return llvm::isSpace(c); }

// One statement, without its semicolon. False: it is none.
bool parse_statement(StringRef text, PtxStatement& statement) {
  if (text.consume_front("@")) {
    statement.unless = text.consume_front("!");
    statement.guard = text.take_until(is_space);
    text = text.drop_front(statement.guard.size()).ltrim();
    if (statement.guard.empty()) return false;
  }
  statement.name = text.take_until(is_space);
  text = text.drop_front(statement.name.size()).trim();
  if (statement.name.empty() || statement.name.contains(':') != statement.name.contains("::")) return false;
  if (!text.empty()) statement.operands = split_operands(text);
  return true;
}

// Of "name:" at the beginning, the name's characters; 0: there is none.
size_t label_size(StringRef text) {
  size_t size = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%'; }).size();
  StringRef behind = text.drop_front(size).ltrim();
  return behind.starts_with(":") && !behind.starts_with("::") ? size : 0;
}

}  // namespace

std::string without_comments(StringRef text) {
  std::string plain;
  while (!text.empty()) {
    if (text.consume_front("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
    } else if (text.consume_front("/*")) {
      text = text.substr(text.find("*/")).drop_front(2);
      plain += ' ';
    } else {
      plain += text.front();
      text = text.drop_front();
    }
  }
  return plain;
}

llvm::SmallVector<StringRef, 6> split_operands(StringRef text) {
  llvm::SmallVector<StringRef, 6> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    parts.push_back(text.slice(begin, i).trim());
    begin = i + 1;
  }
  return parts;
}

std::optional<std::vector<PtxStatement>> parse_ptx(StringRef text) {
  std::vector<PtxStatement> statements;
  for (text = text.ltrim(); !text.empty(); text = text.ltrim()) {
    if (text.consume_front("{") || text.consume_front("}") || text.consume_front(";")) continue;
    if (size_t label = label_size(text)) {
      PtxStatement statement;
      statement.name = text.take_front(label);
      statement.is_label = true;
      statements.push_back(std::move(statement));
      text = text.drop_front(label).ltrim().drop_front();
      continue;
    }
    size_t end = text.find(';');
    // The last may do without, as far as the scope's end.
    StringRef one = text.take_front(end);
    if (end == StringRef::npos) one = one.rtrim().ends_with("}") && !one.contains('{') ? one.rtrim().drop_back() : one;
    text = text.drop_front(end == StringRef::npos ? text.size() : end + 1);
    PtxStatement statement;
    if (!parse_statement(one.trim(), statement)) return std::nullopt;
    statements.push_back(std::move(statement));
  }
  return statements;
}

}  // namespace mneme::codegen::host
