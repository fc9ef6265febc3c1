// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The regular expressions by which kernels are picked: extended, as grep -E knows them, and unanchored. Those of the
// standard library are not used: with some, as (.*)*x, they take for ever.
#pragma once
#include <regex.h>

#include <memory>
#include <string>

namespace mneme::cli {

class Expression {
 public:
  // Throws Error on one that is none; `option` is named then.
  Expression(const std::string& option, const std::string& text);
  // Whether there is a match anywhere in a kernel's demangled name, with or without the return type that a template's
  // begins with: "^scale" and "^void scale" both match "void scale<float>(float*)". The first 64 KiB of the name count:
  // it may come from a stranger.
  bool matches(const std::string& name) const;

 private:
  std::shared_ptr<regex_t> compiled_;
};

}  // namespace mneme::cli
