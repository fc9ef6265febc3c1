// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/gpu/loaded_code.h"

#include "base/error.h"
#include "device/gpu/recorded_memory.h"
#include "objects/function_address.h"
#include "objects/launch_arguments.h"

namespace mneme::device::gpu {

std::vector<void*> LoadedCode::values_in(std::string& arguments) const {
  auto values = objects::argument_list(arguments_, {nullptr, bytes_of(arguments)});
  if (!values) throw Error::of("kernel '{}' was recorded with too few bytes of arguments", kernel_);
  return *std::move(values);
}

Moves LoadedCode::moves(const Launch& launch) const {
  std::vector<Move> moves = functions_;
  for (const bundle::Segment& segment : launch.segments) {
    if (segment.symbol.empty()) continue;
    if (auto found = variable(segment.symbol)) moves.push_back({segment.address, segment.size, found->address});
  }
  return Moves(std::move(moves));
}

void LoadedCode::copy_variables(Gpu& gpu, const Launch& launch, bool to_code) const {
  for (const bundle::Segment& segment : launch.segments) {
    if (segment.symbol.empty()) continue;
    std::optional<Variable> found = variable(segment.symbol);
    if (!found) continue;
    gpu.memory().check_mapped(segment.address, segment.size);
    if (found->size != segment.size) {
      throw Error::of("the variable '{}' has {} bytes in the code of kernel '{}' and {} in the recording",
                      segment.symbol, found->size, kernel_, segment.size);
    }
    const uint64_t to = to_code ? found->address : segment.address;
    gpu.copy(to, to_code ? segment.address : found->address, segment.size, "copying a variable");
  }
}

uint64_t LoadedCode::address_of(Gpu& gpu, const std::string& function) const {
  const std::optional<Variable> holder = variable(objects::address_symbol(function));
  uint64_t address = 0;
  if (!holder || holder->size != sizeof address) return 0;
  gpu.read(holder->address, std::as_writable_bytes(std::span(&address, 1)), "reading a function's address");
  return address;
}

}  // namespace mneme::device::gpu
