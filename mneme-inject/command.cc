// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/cuda_toolkit.h"
#include "base/error.h"
#include "base/file.h"
#include "compiler.h"
#include "cuda_view.h"
#include "cudart.h"
#include "invocation.h"
#include "rocm.h"

namespace mneme::inject {
namespace {

using Words = std::vector<std::string>;

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

std::string plugin() { return installed_part("libmneme-inject-pass.so"); }

// ccache knows an object by the words of its command and the files that it read. The plugin is one of these, and so is
// what adds to what ptxas makes.
void tell_ccache(bool cuda) {
  const char* others = std::getenv("CCACHE_EXTRAFILES");
  std::string files = plugin();
  if (cuda) files += ":" + installed_part("cuda/ptxas");
  if (others && *others) files += std::string(":") + others;
  ::setenv("CCACHE_EXTRAFILES", files.c_str(), 1);
}

// What is added to a command: in front of its own arguments, which can then say otherwise, and behind them.
struct Additions {
  Words front, back;
};

// Of the device compilation the plugin takes what kernels' arguments are called, and drops all names. It stands behind
// the application's own plugins, whose passes run before its own then.
void add_plugin(const Invocation& invocation, Additions& add) {
  if (!invocation.device_ir) append(add.front, {"-Xarch_device", "-fno-discard-value-names"});
  append(add.back, {"-Xclang", "-fpass-plugin=" + plugin()});
  // ccache tells commands apart, not environments.
  const char* heap = std::getenv(kDeviceHeap);
  if (heap && heap == std::string_view("vendor")) add.back.push_back("-D__MNEME_VENDOR_HEAP__");
  const char* source = std::getenv(kEmbedSource);
  if (source && source == std::string_view("1")) add.back.push_back("-D__MNEME_EMBED_SOURCE__");
}

void add_hip(const Invocation& invocation, const std::string& compiler, Additions& add) {
  drop_misleading_paths();
  if (!invocation.host_only && invocation.hip_sources) {
    std::string libraries = device_libraries_to_name(invocation, compiler);
    if (!libraries.empty()) add.front.push_back("--rocm-device-lib-path=" + libraries);
  }
  // Where translation units' device code is linked, as IR: by lld. Behind the application's own plugins, as above.
  if (invocation.relocatable && invocation.links) {
    append(add.back, {"-Xoffload-linker", "--load-pass-plugin=" + plugin()});
  }
}

std::optional<CudaToolkit> toolkit_for(const Invocation& invocation) {
  auto toolkit = find_cuda_toolkit(invocation.cuda_path);
  // Of a folder that the command names clang says itself what is wrong with it.
  if (!toolkit && invocation.cuda_path.empty() && invocation.cuda_sources && !invocation.no_cuda_headers) {
    throw Error(
        "no CUDA toolkit is found (in CUDA_PATH, CUDA_HOME, /usr/local/cuda, /usr/local/cuda-*, /usr/lib/cuda, "
        "/opt/cuda, or where nvcc is in PATH); install one, or say where it is with --cuda-path=FOLDER",
        Exit::kMissing);
  }
  return toolkit;
}

void add_cuda(const Invocation& invocation, bool names_runtime, Additions& add) {
  auto toolkit = toolkit_for(invocation);
  if (!toolkit) return;
  bool links = invocation.links && !invocation.device_only;
  std::string path = "--cuda-path=" + cuda_path(*toolkit);
  if (invocation.cuda_sources) {
    append(add.front, cuda_compile_flags(*toolkit, !invocation.no_cuda_headers));
    add.back.push_back(path);
  } else {
    append(add.back, {"-Xlinker", path});  // for clang-linker-wrapper
  }
  if (links && !names_runtime && !invocation.no_libraries) {
    append(add.back, cudart_places(*toolkit));
    add.back.push_back("-lcudart");
  }
}

void refuse_nvcc(const std::string& compiler, const Invocation& invocation) {
  if (!invocation.inputs || !is_nvcc(compiler)) return;
  throw Error::of(
      "'{}' cannot embed kernel IR for Mneme; compile CUDA with clang 19 instead: mneme-inject clang++-19 -x cuda "
      "--offload-arch=sm_90 …",
      compiler);
}

// With which IR would get lost on the way to the link, and nobody would be told.
void refuse_new_driver(const Invocation& invocation) {
  if (!invocation.hip_sources || !invocation.relocatable || !invocation.new_driver || invocation.host_only) return;
  throw Error(
      "HIP with -fgpu-rdc and --offload-new-driver cannot be made recordable: leave out --offload-new-driver, and link "
      "with --hip-link");
}

// The static CUDA runtime's place is taken by the shared one. Gives what to say of that.
std::string share_cudart(const std::string& compiler, const Invocation& invocation, Words& arguments, Additions& add) {
  if (!invocation.links || !invocation.inputs || !is_compiler_name(compiler)) return {};
  auto shared = with_shared_cudart(arguments);
  if (!shared) return {};
  arguments = std::move(*shared);
  if (auto toolkit = find_cuda_toolkit(invocation.cuda_path)) append(add.back, cudart_places(*toolkit));
  return "the shared CUDA runtime is linked instead of the static one, which hides launches from the recorder on the "
         "CPU";
}

}  // namespace

Recordable recordable(const Words& command) {
  size_t compiler = compiler_index(command);
  auto begin = command.begin() + static_cast<ptrdiff_t>(compiler) + 1;
  Words arguments(begin, command.end());
  Invocation invocation = understand(arguments);
  if (std::getenv(kAnswerWithRecords)) invocation.text = false;
  refuse_nvcc(command[compiler], invocation);
  refuse_new_driver(invocation);
  Recordable result;
  Additions add;
  result.note = share_cudart(command[compiler], invocation, arguments, add);

  bool hip = invocation.hip_sources || invocation.hip_link;
  bool cuda = invocation.cuda_sources || (invocation.offload_link && !hip);
  if (invocation.device_ir && !invocation.text) {
    require_clang_19(command[compiler]);
    add_plugin(invocation, add);
    tell_ccache(false);
  }
  if (hip || cuda) {
    require_clang_19(command[compiler]);
    bool compiles = (invocation.hip_sources || invocation.cuda_sources) && !invocation.host_only;
    if (compiles && !invocation.text) add_plugin(invocation, add);
    result.leaves_assembly = compiles && invocation.keeps_temporaries;
    if (hip) add_hip(invocation, command[compiler], add);
    if (cuda) add_cuda(invocation, names_cudart(arguments), add);
    if (!add.front.empty() || !add.back.empty()) tell_ccache(cuda);
    if (invocation.relocatable) ::setenv("MNEME_INJECT_RELOCATABLE", "1", 1);
  }
  result.command.assign(command.begin(), begin);
  append(result.command, add.front);
  auto options_end = std::find(arguments.begin(), arguments.end(), "--");
  result.command.insert(result.command.end(), arguments.begin(), options_end);
  append(result.command, add.back);
  result.command.insert(result.command.end(), options_end, arguments.end());
  return result;
}

namespace {

constexpr char kCompiler[] = "clang++-19", kAnyProcessor[] = "native";  // where none is named

}  // namespace

Words compile_flags(const std::string& language) {
  Invocation invocation;
  (language == "hip" ? invocation.hip_sources : invocation.cuda_sources) = true;
  invocation.links = false;
  invocation.processors = {kAnyProcessor};
  Additions add;
  add_plugin(invocation, add);
  if (invocation.hip_sources) add_hip(invocation, kCompiler, add);
  if (invocation.cuda_sources) add_cuda(invocation, true, add);
  append(add.front, add.back);
  return add.front;
}

Words link_flags(const std::string& language) {
  if (language == "hip") return {};  // the IR is in the device code that the objects carry
  Invocation invocation;
  invocation.cuda_sources = true;
  Words flags = cudart_places(*toolkit_for(invocation));
  flags.push_back("-lcudart");
  return flags;
}

}  // namespace mneme::inject
