// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command.h"

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "compiler.h"
#include "invocation.h"
#include "rocm.h"

namespace mneme::inject {
namespace {

std::string plugin() { return installed_part("libmneme-inject-pass.so"); }

std::vector<std::string> flags_for(const Invocation& invocation) {
  std::vector<std::string> flags = {"-fpass-plugin=" + plugin()};
  std::string libraries = device_libraries_to_name(invocation);
  if (!libraries.empty()) flags.push_back("--rocm-device-lib-path=" + libraries);
  return flags;
}

// Where translation units' device code is linked, as IR: by lld.
std::vector<std::string> link_flags() { return {"-Xoffload-linker", "--load-pass-plugin=" + plugin()}; }

void refuse_unrecordable(const Invocation& invocation) {
  if (invocation.cuda_sources) {
    throw Error("CUDA sources cannot be made recordable; compile them as HIP (-x hip), or without mneme-inject");
  }
}

// ccache knows an object by the words of its command and the files that it read: the plugin is one of these.
void tell_ccache() {
  const char* others = std::getenv("CCACHE_EXTRAFILES");
  std::string files = plugin();
  if (others && *others) files += std::string(":") + others;
  ::setenv("CCACHE_EXTRAFILES", files.c_str(), 1);
}

}  // namespace

std::vector<std::string> recordable(const std::vector<std::string>& command) {
  size_t compiler = compiler_index(command);
  auto arguments = command.begin() + static_cast<ptrdiff_t>(compiler) + 1;
  Invocation invocation = understand({arguments, command.end()});
  refuse_unrecordable(invocation);
  if (!invocation.hip_sources && !invocation.hip_link) return command;
  require_clang_19(command[compiler]);
  drop_misleading_paths();
  bool compiles = invocation.hip_sources && !invocation.host_only;
  bool links_units = invocation.relocatable && invocation.links && (invocation.hip_sources || invocation.hip_link);
  if (!compiles && !links_units) return command;

  tell_ccache();
  std::vector<std::string> out(command.begin(), arguments);
  auto add = [&](const std::vector<std::string>& flags) { out.insert(out.end(), flags.begin(), flags.end()); };
  if (compiles) add(flags_for(invocation));
  if (links_units) add(link_flags());
  if (invocation.relocatable) ::setenv("MNEME_INJECT_RELOCATABLE", "1", 1);
  out.insert(out.end(), arguments, command.end());
  return out;
}

std::vector<std::string> compile_flags() { return flags_for({}); }

std::string quoted(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    bool plain = !word.empty() && word.find_first_not_of(
                                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                      "_-+=./:,@%^") == std::string::npos;
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace mneme::inject
