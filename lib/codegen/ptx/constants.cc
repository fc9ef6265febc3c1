// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/constants.h"

#include <llvm/ADT/StringExtras.h>

#include <iterator>

namespace mneme::codegen::ptx {
namespace {

using llvm::StringRef;

constexpr int kMostDepth = 64;  // of brackets and signs in a stranger's text

struct Number {
  uint64_t bits = 0;
  bool is_unsigned = false;
};

// Operators of two operands, those that bind least first; of one line the longer first.
constexpr StringRef kOperators[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};

class Expression {
 public:
  explicit Expression(StringRef text) : text_(text) {}

  std::optional<uint64_t> value() {
    Number result = choice();
    return failed_ || !text_.trim().empty() ? std::nullopt : std::optional(result.bits);
  }

 private:
  Number fail() {
    failed_ = true;
    text_ = "";
    return {};
  }

  bool take(StringRef what) {
    text_ = text_.ltrim();
    return text_.consume_front(what);
  }

  // An operator of the line, and none that only begins with it.
  StringRef take_operator(size_t line) {
    text_ = text_.ltrim();
    for (StringRef one : kOperators[line]) {
      if (one.empty() || !text_.starts_with(one)) continue;
      StringRef behind = text_.drop_front(one.size());
      bool longer =
          one.size() == 1 && (StringRef("|&").contains(one)   ? behind.starts_with(one)
                              : StringRef("<>").contains(one) ? behind.starts_with(one) || behind.starts_with("=")
                                                              : false);
      if (longer) continue;
      text_ = behind;
      return one;
    }
    return "";
  }

  Number choice() {
    Number condition = binary(0);
    if (!take("?")) return condition;
    if (++depth_ > kMostDepth) return fail();
    Number then = choice();
    if (!take(":")) return fail();
    Number otherwise = choice();
    --depth_;
    Number chosen = condition.bits ? then : otherwise;
    return {chosen.bits, then.is_unsigned || otherwise.is_unsigned};
  }

  Number binary(size_t line) {
    if (line == std::size(kOperators)) return unary();
    Number left = binary(line + 1);
    for (StringRef which = take_operator(line); !failed_ && !which.empty(); which = take_operator(line)) {
      left = combined(which, left, binary(line + 1));
    }
    return left;
  }

  Number combined(StringRef which, Number a, Number b) {
    bool either = a.is_unsigned || b.is_unsigned;
    auto number = [&](uint64_t bits) { return Number{bits, either}; };
    auto truth = [](bool holds) { return Number{holds ? uint64_t{1} : 0, false}; };
    auto x = static_cast<int64_t>(a.bits), y = static_cast<int64_t>(b.bits);
    if (which == "+") return number(a.bits + b.bits);
    if (which == "-") return number(a.bits - b.bits);
    if (which == "*") return number(a.bits * b.bits);
    if (which == "|") return number(a.bits | b.bits);
    if (which == "^") return number(a.bits ^ b.bits);
    if (which == "&") return number(a.bits & b.bits);
    if (which == "||") return truth(a.bits || b.bits);
    if (which == "&&") return truth(a.bits && b.bits);
    if (which == "==") return truth(a.bits == b.bits);
    if (which == "!=") return truth(a.bits != b.bits);
    if (which == "<") return truth(either ? a.bits < b.bits : x < y);
    if (which == "<=") return truth(either ? a.bits <= b.bits : x <= y);
    if (which == ">") return truth(either ? a.bits > b.bits : x > y);
    if (which == ">=") return truth(either ? a.bits >= b.bits : x >= y);
    if (which == "<<" || which == ">>") {
      if (b.bits > 63) return {a.is_unsigned || x >= 0 || which == "<<" ? 0 : ~uint64_t{0}, a.is_unsigned};
      if (which == "<<") return {a.bits << b.bits, a.is_unsigned};
      return {a.is_unsigned ? a.bits >> b.bits : static_cast<uint64_t>(x >> b.bits), a.is_unsigned};
    }
    if (b.bits == 0) return fail();
    if (either) return number(which == "/" ? a.bits / b.bits : a.bits % b.bits);
    if (y == -1) return number(which == "/" ? 0 - a.bits : 0);
    return number(static_cast<uint64_t>(which == "/" ? x / y : x % y));
  }

  Number unary() {
    if (++depth_ > kMostDepth) return fail();
    Number result = operand();
    --depth_;
    return result;
  }

  Number operand() {
    if (take("+")) return unary();
    if (take("-")) {
      Number of = unary();
      return {0 - of.bits, of.is_unsigned};
    }
    if (take("~")) {
      Number of = unary();
      return {~of.bits, of.is_unsigned};
    }
    if (take("!")) return {unary().bits ? uint64_t{0} : 1, false};
    for (bool is_unsigned : {false, true}) {
      StringRef before = text_;
      if (take("(") && take(is_unsigned ? ".u64" : ".s64") && take(")")) return {unary().bits, is_unsigned};
      text_ = before;
    }
    if (!take("(")) return literal();
    Number inside = choice();
    return take(")") ? inside : fail();
  }

  Number literal() {
    StringRef word = text_.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    text_ = text_.drop_front(word.size());
    if (word == "WARP_SZ") return {32, false};
    bool is_unsigned = word.consume_back("U");
    uint64_t bits = 0;
    if (word.empty() || word.getAsInteger(0, bits)) return fail();
    return {bits, is_unsigned || bits > INT64_MAX};
  }

  StringRef text_;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<uint64_t> ptx_integer(StringRef text) { return Expression(text.trim()).value(); }

}  // namespace mneme::codegen::ptx
