// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The words of PTX.
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "objects/ptx.h"

namespace mneme::objects {

inline bool is_of_ptx_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

inline bool is_ptx_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

// Words, such as ".align" and "_Z3addPf", and characters between them. Comments, texts and lines of a source (.loc) are
// passed over.
class PtxWords {
 public:
  explicit PtxWords(std::string_view text) : text_(text) {}

  // Empty: there are no more.
  std::string_view next() {
    pass_over();
    if (at_ == text_.size()) return {};
    const size_t begin = at_;
    if (!is_of_ptx_word(text_[at_])) return text_.substr(at_++, 1);
    while (at_ < text_.size() && is_of_ptx_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Behind the last one.
  size_t at() const { return at_; }

  // Behind an opening brace: goes behind the one that closes it. Most of a text is between braces, so word by word
  // would take long.
  void pass_over_braces() {
    for (size_t depth = 1; at_ < text_.size() && depth > 0;) {
      const char c = text_[at_];
      if ((c == '/' || c == '"') && pass_over_comment()) continue;
      ++at_;
      if (c == '{') ++depth;
      if (c == '}') --depth;
    }
  }

 private:
  void pass_over() {
    while (at_ < text_.size()) {
      if (is_ptx_space(text_[at_])) {
        ++at_;
      } else if (!pass_over_comment()) {
        return;
      }
    }
  }

  // Or a text.
  bool pass_over_comment() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//") || rest.starts_with(".loc ") || rest.starts_with(".loc\t")) {
      at_ += std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/", 2);
      at_ = end == std::string_view::npos ? text_.size() : at_ + end + 2;
    } else if (rest.front() == '"') {
      const size_t end = rest.find('"', 1);
      at_ = end == std::string_view::npos ? text_.size() : at_ + end + 1;
    } else {
      return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Behind a kernel's name: "(.param …, .param …)". nullopt: it is not understood.
std::optional<Parameters> parameters_behind(PtxWords& words, std::vector<std::string_view>* names = nullptr);

}  // namespace mneme::objects
