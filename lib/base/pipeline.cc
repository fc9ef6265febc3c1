// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/pipeline.h"

#include <sys/stat.h>

namespace mneme {

bool is_pipe(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
}

}  // namespace mneme
