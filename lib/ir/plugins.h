// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared objects with further passes, as opt's -load-pass-plugin takes them. Free of LLVM's headers.
#pragma once
#include <string>

namespace llvm {
class PassBuilder;
}

namespace mneme::ir {

// Loads one, for as long as the process lives, and returns what it is called in a configuration: the digest of the
// file. Its own code runs here, in this process, and in those that compile: it is its user who trusts it. Throws Error
// with the reason where it is none, or made for another LLVM.
std::string load_plugin(const std::string& path);

// Has plugins that were loaded, named in a list with commas between, register their passes, in its order. Throws Error
// for one that was not loaded.
void register_plugins(const std::string& plugins, llvm::PassBuilder& builder);
// Throws what register_plugins() would.
void check_plugins(const std::string& plugins);

}  // namespace mneme::ir
