// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mneme::inject {

// What a clang command line is about to do, as far as making its output recordable depends on it.
struct Invocation {
  bool hip_sources = false;             // some input is compiled as HIP
  bool cuda_sources = false;            // or as CUDA
  bool device_ir = false;               // or is LLVM's IR of a GPU's code
  bool inputs = false;                  // there are any
  bool hip_link = false;                // --hip-link
  bool offload_link = false;            // --offload-link
  bool relocatable = false;             // -fgpu-rdc: device code is linked across translation units
  bool new_driver = false;              // --offload-new-driver: device code is linked from packages in object files
  bool links = true;                    // no -c, -S and the like: a program or shared library is made
  bool text = false;                    // -S, -emit-llvm: what is made may be edited, and then compiled
  bool keeps_temporaries = false;       // -save-temps: assembly and IR of each step are left
  bool host_only = false;               // --cuda-host-only: no device compilation
  bool device_only = false;             // --cuda-device-only: no host compilation
  bool names_device_libraries = false;  // or says that none are wanted
  std::vector<std::string> processors;  // that device code is for, as named: "gfx90a:xnack+"
  std::string code_object;              // -mcode-object-version=
  std::string rocm_path;                // --rocm-path=
  std::string cuda_path;                // --cuda-path=
  bool no_cuda_headers = false;         // -nocudainc: no toolkit is wanted
  bool no_libraries = false;            // -nostdlib, -r: nothing is linked that the command does not name
};

// `arguments` without the compiler; response files (@file) and configuration files that are named by a path
// (--config) are looked into.
Invocation understand(const std::vector<std::string>& arguments);

// Whether an option's value is the next word: that word is no input, whatever it looks like.
bool takes_next_word(std::string_view option);

// `arguments` with each @file replaced by the words in it, as clang does on Unix. One that cannot be read stays.
std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments, int depth = 0);

}  // namespace mneme::inject
