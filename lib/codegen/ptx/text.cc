// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/text.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace mneme::codegen::ptx {
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
      StringRef comment = text.take_front(text.find("*/"));
      plain += ' ' + std::string(comment.count('\n'), '\n');
      text = text.drop_front(comment.size()).drop_front(std::min<size_t>(2, text.size() - comment.size()));
    } else if (text.front() == '"') {
      size_t size = text.find('"', 1);
      size = size == StringRef::npos ? text.size() : size + 1;
      plain += text.take_front(size);
      text = text.drop_front(size);
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
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    parts.push_back(text.slice(begin, i).trim());
    begin = i + 1;
  }
  return parts;
}

bool PtxStatement::takes_carry() const { return llvm::is_contained({"addc", "subc", "madc"}, operation()); }

bool PtxStatement::gives_carry() const { return name.contains(".cc.") || name.ends_with(".cc"); }

bool writes_first(const PtxStatement& statement) {
  static constexpr StringRef kOthers[] = {"st",
                                          "red",
                                          "bar",
                                          "barrier",
                                          "fence",
                                          "membar",
                                          "exit",
                                          "trap",
                                          "brkpt",
                                          "nanosleep",
                                          "cp",
                                          "prefetch",
                                          "pmevent",
                                          "discard",
                                          "ret",
                                          "prefetchu",
                                          "griddepcontrol",
                                          "setmaxnreg",
                                          "applypriority",
                                          "bra",
                                          "stackrestore"};
  StringRef operation = statement.operation();
  if (operation == "bar" || operation == "barrier") return statement.name.contains(".red.");
  if (!statement.operands.empty() && statement.operands[0].starts_with("[")) return false;
  return !llvm::is_contained(kOthers, operation);
}

bool is_video(StringRef operation) {
  if (!operation.consume_front("v")) return false;
  operation = operation.rtrim("24");
  return llvm::is_contained({"add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set", "avrg"}, operation);
}

PtxPart split_part(StringRef operand) {
  StringRef positive = operand;
  bool negative = positive.consume_front("-");
  positive = positive.ltrim();
  if (!negative || positive.empty() || llvm::isDigit(positive.front()))
    return {operand.split('.').first, operand.split('.').second.str()};
  return {positive.split('.').first, "-" + positive.split('.').second.str()};
}

bool is_pure(StringRef operation) {
  static constexpr StringRef kPure[] = {
      "add",   "sub", "mul",   "mad",   "fma",  "min",  "max",      "div",      "rem",  "rcp",       "sqrt",
      "rsqrt", "sin", "cos",   "lg2",   "ex2",  "tanh", "cvt",      "set",      "setp", "selp",      "slct",
      "abs",   "neg", "and",   "or",    "xor",  "not",  "cnot",     "shl",      "shr",  "mov",       "prmt",
      "bfe",   "bfi", "lop3",  "shf",   "dp4a", "dp2a", "copysign", "testp",    "bmsk", "fns",       "bfind",
      "szext", "sad", "mul24", "mad24", "popc", "clz",  "brev",     "isspacep", "mapa", "getctarank"};
  return llvm::is_contained(kPure, operation) || is_video(operation);
}

std::optional<llvm::SmallVector<StringRef, 4>> split_targets(StringRef operand) {
  llvm::SmallVector<StringRef, 4> targets;
  auto [first, second] = operand.split('|');
  first = first.trim();
  if (first.consume_front("{")) {
    if (!first.consume_back("}")) return std::nullopt;
    for (StringRef element : split_operands(first)) targets.push_back(element);
  } else {
    targets.push_back(first);
  }
  if (operand.contains('|')) targets.push_back(second.trim());
  return targets;
}

std::optional<std::vector<PtxStatement>> parse_ptx(StringRef text, StringRef* wrong) {
  std::vector<PtxStatement> statements;
  auto add = [&](PtxStatement::Kind kind, StringRef name) {
    PtxStatement statement;
    statement.kind = kind;
    statement.name = name;
    statements.push_back(std::move(statement));
  };
  for (text = text.ltrim(); !text.empty(); text = text.ltrim()) {
    StringRef begin = text;
    if (text.consume_front(";")) continue;
    if (text.consume_front("{")) {
      add(PtxStatement::kOpen, begin.take_front());
      continue;
    }
    if (text.consume_front("}")) {
      add(PtxStatement::kClose, begin.take_front());
      continue;
    }
    if (text.starts_with(".loc") && text.size() > 4 && is_space(text[4])) {  // ends with the line
      text = text.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (size_t label = label_size(text)) {
      add(PtxStatement::kLabel, text.take_front(label));
      text = text.drop_front(label).ltrim().drop_front();
      continue;
    }
    size_t end = text.find(';');
    // The last may do without, as far as the scope's end.
    StringRef one = text.take_front(end);
    if (end == StringRef::npos) one = one.rtrim().ends_with("}") && !one.contains('{') ? one.rtrim().drop_back() : one;
    text = text.drop_front(end == StringRef::npos ? text.size() : end + 1);
    PtxStatement statement;
    if (!parse_statement(one.trim(), statement)) {
      if (wrong) *wrong = one.trim();
      return std::nullopt;
    }
    statements.push_back(std::move(statement));
  }
  return statements;
}

}  // namespace mneme::codegen::ptx
