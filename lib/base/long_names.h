// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels' names in messages and tables. The demangled name of a template's instance may have tens of thousands of
// characters; people get its beginning and its end, "void run<Functor<…>(Args)", machines (json) the whole.
#pragma once
#include <cstddef>
#include <string>

namespace mneme {

inline constexpr size_t kWidestName = 80;  // characters

// Characters, not bytes, of UTF-8.
size_t width_of(const std::string& text);
// At most kWidestName characters of it: what is too long is cut in the middle.
std::string cut_in_the_middle(const std::string& text);

// A message with this name cut in the middle, if it is too long.
std::string with_short_name(std::string message, const std::string& name);

// Has with_short_names() cut this name, if it is too long, from now on. May be called in any thread.
void note_name(const std::string& name);
// A message with each name that was noted cut in the middle.
std::string with_short_names(std::string message);

}  // namespace mneme
