// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device IR to code for a target, whichever it is. A target is a device and what code for it depends on:
// "host:x86-64-v3", "cuda:sm_90", "hip:gfx90a". Free of LLVM's headers, so that callers compile fast.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::codegen {

struct Code {
  std::string bytes;
  std::string file;  // the bundle's name for such code: "code.so", "code.ptx", "code.cubin", "code.hsaco"
  std::string form;  // host: "loop" or "fiber"
  std::vector<bundle::StoreType> stores;
  std::optional<bundle::Resources> resources = {};  // of a cubin or a code object
  std::string ir = {}, assembly = {};               // as texts, where they were asked for: after the pipeline has run
  // Sentences about what may cost time; and the numbered passes, where the configuration limits them (opt_bisect).
  std::vector<std::string> remarks = {};
  std::vector<std::string> replaced = {};  // functions that the host device and AMD's GPUs compute otherwise
};

// What else the compiler is to know and to give.
struct Given {
  const bundle::InstanceInfo* instance = nullptr;  // whose values a configuration that is specialised takes
  bool texts = false;                              // Code's `ir` and `assembly`
  // A code object for AMD's GPUs carries the IR that it was made of, before the pipeline ran, in the section and form
  // of objects/embedded.h: the stand-in for the HIP runtime executes that. Loaders pass over it.
  bool embed = false;
  // The recorded kernel's IR, where other is compiled in its place: what is stored where is what that one stores, else
  // wrong code would choose the tolerance that it is judged by.
  std::string_view recorded = {};
  // Passes of the host device's compiler (host/pipeline.h) after which the IR goes to standard error.
  std::vector<std::string> print_after = {};
};

// The target that is meant: "sm_90" is "cuda:sm_90", "gfx90a" "hip:gfx90a", "host" what this machine's CPU has. Throws
// Error for what is none.
std::string target_named(const std::string& text);

// Compiles the kernel `info.name` in `ir` (bitcode or text). For NVIDIA's GPUs it gives PTX, whatever assembler the
// configuration names: nvptx/assembler.h takes it from there. Deterministic. Throws Error with LLVM's own message for
// bad IR or a bad pipeline, and by name for what the target lacks. Not confined: a caller handling a stranger's IR runs
// it in a confined child.
Code compile(const bundle::KernelInfo& info, std::string_view ir, const bundle::Configuration& configuration,
             const Given& given = {});

}  // namespace mneme::codegen
