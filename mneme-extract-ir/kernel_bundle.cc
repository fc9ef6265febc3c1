// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests: writes the kernels embedded in the device code object on standard input as a bundle without
// instances. With arguments NAME BITCODE, instead of these a kernel of that name whose bitcode is that text.
#include <unistd.h>

#include "base/file.h"
#include "bundle/writer.h"
#include "cli/options.h"
#include "objects/embedded.h"

using namespace mneme;

namespace {

void add_kernel(bundle::Writer& writer, bundle::KernelInfo info, std::string_view bitcode) {
  info.id = info.bitcode = digest_of(bitcode);
  writer.add(bundle::kernel_json_name(info.id), bundle::write(info));
  writer.add(bundle::kernel_bitcode_name(info.id), bitcode);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("kernel_bundle", [&]() -> Exit {
    bundle::Writer writer(STDOUT_FILENO, "standard output");
    bundle::BundleInfo info;
    info.device = "host";
    writer.add(std::string(bundle::kBundleMember), bundle::write(info));
    if (argc == 3) {
      bundle::KernelInfo kernel;
      kernel.name = kernel.demangled = argv[1];
      kernel.target = "amdgcn-amd-amdhsa--gfx90a";
      add_kernel(writer, kernel, argv[2]);
    } else {
      std::string code = read_all(STDIN_FILENO, "standard input");
      if (!code.empty()) {
        Bytes section = objects::elf_section(bytes_of(code), objects::kEmbeddedSection, "standard input");
        for (const auto& kernel : objects::parse_embedded(section, "standard input")) {
          add_kernel(writer, kernel.info, text_of(kernel.bitcode));
        }
      }
    }
    writer.add(std::string(bundle::kSummaryMember), bundle::write(bundle::Summary{}));
    writer.finish();
    return Exit::kSuccess;
  });
}
