// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/plugins.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Passes/PassPlugin.h>

#include <map>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"

namespace mneme::ir {
namespace {

constexpr size_t kLargest = 1u << 30;  // bytes of a file

std::map<std::string, llvm::PassPlugin>& loaded() {
  static std::map<std::string, llvm::PassPlugin> plugins;  // by the digests of their files
  return plugins;
}

llvm::PassPlugin& find(llvm::StringRef name) {
  auto found = loaded().find(name.str());
  if (found != loaded().end()) return found->second;
  throw Error::of("no plugin with the digest '{}' is loaded: --load-pass-plugin gives its file",
                  name.substr(0, 80).str());
}

llvm::SmallVector<llvm::StringRef> names_in(llvm::StringRef plugins) {
  llvm::SmallVector<llvm::StringRef> names;
  plugins.split(names, ',', -1, /*KeepEmpty=*/false);
  return names;
}

}  // namespace

std::string load_plugin(const std::string& path) {
  std::string name = digest_of(read_file(path, kLargest)).hex();
  if (loaded().contains(name)) return name;
  // The loader looks for a name without a slash elsewhere.
  llvm::Expected<llvm::PassPlugin> plugin =
      llvm::PassPlugin::Load(path.find('/') == std::string::npos ? "./" + path : path);
  if (!plugin) {
    throw Error::of("'{}' is not a pass plugin for this LLVM ({}): {}", path, LLVM_VERSION_STRING,
                    llvm::toString(plugin.takeError()));
  }
  loaded().emplace(name, *plugin);
  return name;
}

void register_plugins(const std::string& plugins, llvm::PassBuilder& builder) {
  for (llvm::StringRef name : names_in(plugins)) find(name).registerPassBuilderCallbacks(builder);
}

void check_plugins(const std::string& plugins) {
  for (llvm::StringRef name : names_in(plugins)) find(name);
}

}  // namespace mneme::ir
