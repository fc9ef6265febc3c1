// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/launch_request.h"

#include "base/error.h"

namespace mneme::record {

std::string gather_arguments(const bundle::KernelInfo& kernel, const Arguments& arguments) {
  std::string bytes(kernel.argument_bytes, '\0');
  switch (objects::gather_arguments(kernel, arguments, std::as_writable_bytes(std::span(bytes)))) {
    case objects::Gathered::kBrokenLayout:
      throw Error("its argument layout is broken");
    case objects::Gathered::kWithoutValues:
      throw Error("it was launched without its arguments");
    case objects::Gathered::kAll:
      break;
  }
  return bytes;
}

}  // namespace mneme::record
