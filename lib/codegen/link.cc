// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

#include <mutex>

#include "base/error.h"
#include "base/file.h"

LLD_HAS_DRIVER(elf)

namespace mneme::codegen {

std::string link_shared_object(std::string_view object, const std::vector<std::string>& options) {
  // lld keeps its state in globals. Its output goes to "-", this process's standard output, which stands in for
  // a file in memory while lld runs: a confined process may not create files.
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  Fd input = memory_file("object", bytes_of(object));
  Fd output = memory_file("linked");
  std::vector<std::string> words = {
      "ld.lld",           "-shared", "--threads=1", "--build-id=none",
      "--hash-style=gnu", "-o",      "-",           "/proc/self/fd/" + std::to_string(input.get())};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());

  std::string errors;
  llvm::raw_string_ostream error_stream(errors);
  Fd standard_output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  llvm::outs().flush();
  ::dup2(output.get(), STDOUT_FILENO);
  lld::Result result = lld::lldMain(argv, llvm::outs(), error_stream, {{lld::Gnu, &lld::elf::link}});
  llvm::outs().flush();
  if (standard_output) {
    ::dup2(standard_output.get(), STDOUT_FILENO);
  } else {
    ::close(STDOUT_FILENO);
  }
  if (result.retCode != 0) throw Error::of("lld cannot link the kernel: {}", errors);
  ::lseek(output.get(), 0, SEEK_SET);
  return read_all(output.get(), "the linked kernel");
}

}  // namespace mneme::codegen
