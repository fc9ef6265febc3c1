// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-host-compile: the compiler behind the host device's runtime library. Reads one embedded kernel
// (objects/embedded.h) from standard input and writes its shared object to standard output.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "codegen/host/host.h"
#include "objects/embedded.h"

namespace {

// The application runs at full optimisation, whatever its own build asked for; unless it was built for a debugger.
mneme::bundle::Configuration configuration(const std::string& target, const std::string& form, bool check_memory,
                                           const std::string& checks) {
  mneme::bundle::Configuration configuration;
  configuration.target = target;
  // Of code that checks its accesses no speed is asked.
  configuration.passes = check_memory || !checks.empty() ? "default<O1>" : "default<O3>";
  configuration.form = form;
  configuration.check_memory = check_memory;
  configuration.checks = checks;
  return configuration;
}

void compile(mneme::bundle::Configuration configuration) {
  std::string record = mneme::read_all(STDIN_FILENO, "standard input");
  auto kernels = mneme::objects::parse_embedded(mneme::bytes_of(record), "standard input");
  if (kernels.size() != 1) throw mneme::Error("standard input is not one embedded kernel");
  if (mneme::codegen::host::is_for_debugging(kernels[0].info, mneme::text_of(kernels[0].bitcode))) {
    configuration.passes = "default<O0>";
    configuration.codegen_opt = 0;
  }
  auto result = mneme::codegen::host::compile(kernels[0].info, mneme::text_of(kernels[0].bitcode), configuration);
  mneme::write_all(STDOUT_FILENO, mneme::bytes_of(result.code), "standard output");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string target = mneme::codegen::host::default_target(), form = "auto", checks;
    bool check_memory = false;
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--form") == 0 && i + 1 < argc) {
        form = argv[++i];
      } else if (std::strcmp(argv[i], "--target") == 0 && i + 1 < argc) {
        target = argv[++i];
      } else if (std::strcmp(argv[i], "--check-memory") == 0) {
        check_memory = true;
      } else if (std::strcmp(argv[i], "--checks") == 0 && i + 1 < argc) {
        checks = argv[++i];
      } else {
        throw mneme::Error(
            "usage: mneme-host-compile [--target TARGET] [--form auto|loop|fiber] [--check-memory] [--checks LIST]");
      }
    }
    mneme::confine_process();
    compile(configuration(target, form, check_memory, checks));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
