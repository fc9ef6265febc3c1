// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/launch.h"

#include "base/error.h"

namespace mneme::bundle {
namespace {

uint32_t blocks_for(uint32_t grid, uint32_t recorded, uint32_t block) {
  uint64_t blocks = (uint64_t{grid} * recorded + block - 1) / block;
  if (blocks > UINT32_MAX) throw Error::of("blocks of {} threads would be too many: {}", block, blocks);
  return static_cast<uint32_t>(blocks);
}

}  // namespace

std::string text_of(const Dim3& dimensions) {
  return fmt::format("({}, {}, {})", dimensions.x, dimensions.y, dimensions.z);
}

LaunchSize launch_size(const InstanceInfo& instance, const Configuration& configuration) {
  if (!configuration.instance.empty() && configuration.instance != instance.id) {
    throw Error::of("the code is specialised to the instance {}, and not for {}",
                    configuration.instance.hex().substr(0, 12), instance.id.hex().substr(0, 12));
  }
  LaunchSize size{instance.grid, instance.block, configuration.shared_mem.value_or(instance.shared_bytes)};
  if (configuration.block) {
    size.block = *configuration.block;
    size.grid = {blocks_for(instance.grid.x, instance.block.x, size.block.x),
                 blocks_for(instance.grid.y, instance.block.y, size.block.y),
                 blocks_for(instance.grid.z, instance.block.z, size.block.z)};
  }
  if (configuration.grid) size.grid = *configuration.grid;
  if (configuration.max_threads && size.block.count() > configuration.max_threads) {
    throw Error::of("its launch bounds allow {} threads in a block ('max_threads'), and a block of {} has {}",
                    configuration.max_threads, text_of(size.block), size.block.count());
  }
  return size;
}

bool launches_otherwise(const InstanceInfo& instance, const Configuration& configuration) {
  return launch_size(instance, configuration) != LaunchSize{instance.grid, instance.block, instance.shared_bytes};
}

std::optional<LaunchSize> launch_of(const Choice& choice, const Configuration& configuration) {
  InstanceInfo instance;  // any one with the key
  instance.id = configuration.instance;
  instance.grid = choice.grid;
  instance.block = choice.block;
  instance.shared_bytes = choice.shared_bytes;
  if (!launches_otherwise(instance, configuration)) return std::nullopt;
  return launch_size(instance, configuration);
}

}  // namespace mneme::bundle
