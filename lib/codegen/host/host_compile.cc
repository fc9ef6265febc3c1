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

// The application runs at full optimisation, whatever its own build asked for.
mneme::bundle::Configuration configuration(const std::string& form) {
  mneme::bundle::Configuration configuration;
  configuration.target = mneme::codegen::host::default_target();
  configuration.passes = "default<O3>";
  configuration.form = form;
  return configuration;
}

void compile(const std::string& form) {
  std::string record = mneme::read_all(STDIN_FILENO, "standard input");
  auto kernels = mneme::objects::parse_embedded(mneme::bytes_of(record), "standard input");
  if (kernels.size() != 1) throw mneme::Error("standard input is not one embedded kernel");
  auto result = mneme::codegen::host::compile(kernels[0].info, mneme::text_of(kernels[0].bitcode), configuration(form));
  mneme::write_all(STDOUT_FILENO, mneme::bytes_of(result.code), "standard output");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string form = "auto";
    if (argc == 3 && std::strcmp(argv[1], "--form") == 0) {
      form = argv[2];
    } else if (argc != 1) {
      throw mneme::Error("usage: mneme-host-compile [--form auto|loop|coroutine]");
    }
    mneme::confine_process();
    compile(form);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
