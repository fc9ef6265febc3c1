// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A folder of links that clang is shown in place of a vendor's, which is left as it is: with what clang 19 needs
// besides, or otherwise.
#pragma once
#include <functional>
#include <string>

namespace mneme::inject {

struct View {
  std::string name;                                         // of the folder: what is to be another one has another name
  std::string of;                                           // whose, for messages: "the CUDA toolkit"
  std::function<void(const std::string& folder)> make;      // fills an empty folder
  std::function<bool(const std::string& folder)> is_whole;  // nobody has removed anything from it
};

// The folder. It is kept with what else Mneme caches ($XDG_CACHE_HOME/mneme or ~/.cache/mneme; where that cannot be, a
// temporary folder), and made in one piece, whoever else is making it. Throws Error where it cannot be made.
std::string folder_of(const View& view);

// Links to all that is in a folder, in another one.
void link_entries(const std::string& from, const std::string& to);

}  // namespace mneme::inject
