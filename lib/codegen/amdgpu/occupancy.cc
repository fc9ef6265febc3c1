// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "codegen/amdgpu/metadata.h"

namespace mneme::codegen::amdgpu {
namespace {

// Of one SIMD.
struct Machine {
  uint32_t waves, registers, granule;
};

constexpr uint32_t kMostWaves = 20;

// From AMD's and LLVM's descriptions of the processors.
Machine machine_of(const TargetId& target, uint32_t wave_size) {
  const uint32_t version = target.isa_version;
  bool wide = wave_size == 64;
  if (version == 9010 || version / 100 == 94) return {8, 512, 8};
  if (target.generation == 9) return {10, 256, 4};
  if (version < 10300) return {kMostWaves, wide ? 512u : 1024u, wide ? 4u : 8u};
  bool larger = version == 11000 || version == 11001 || version == 11501;
  if (larger && !target.generic) return {16, wide ? 768u : 1536u, wide ? 12u : 24u};
  return {16, wide ? 512u : 1024u, wide ? 8u : 16u};
}

// Waves that there are scalar registers for. Later generations do not share them out. On 9 there
// are 800, given out by 16s, which would be 8 waves of 81 to 96; these are the limits that LLVM has.
uint32_t waves_of_scalar_registers(const TargetId& target, uint32_t registers) {
  if (target.generation > 9 || registers <= 80) return kMostWaves;
  return registers <= 88 ? 9 : registers <= 100 ? 8 : 7;
}

// That have shared memory in common: a compute unit, or two of them.
struct Unit {
  uint32_t simds = 4;
  uint64_t shared = 64 << 10;
  uint32_t barriers = 16;  // blocks of several waves that it can hold
};

Unit unit_of(const TargetId& target, bool workgroup_processor) {
  if (target.generation == 9) return {};
  return workgroup_processor ? Unit{4, 128 << 10, 32} : Unit{2, 64 << 10, 16};
}

uint32_t up(uint64_t value, uint64_t granule) {
  return static_cast<uint32_t>((value + granule - 1) / granule * granule);
}

}  // namespace

uint32_t occupancy(const TargetId& target, const Footprint& taken) {
  Machine machine = machine_of(target, taken.wave_size);
  uint32_t waves = machine.waves;
  waves = std::min(waves, machine.registers / up(std::max(taken.registers, 1u), machine.granule));
  waves = std::min(waves, waves_of_scalar_registers(target, taken.scalar_registers));
  // So many of the largest blocks that the kernel may be launched with, all of them whole.
  Unit unit = unit_of(target, taken.workgroup_processor);
  uint32_t of_block = std::max((taken.block + taken.wave_size - 1) / taken.wave_size, 1u);
  uint64_t blocks = machine.waves * unit.simds / of_block;
  if (of_block > 1) blocks = std::min<uint64_t>(blocks, unit.barriers);
  if (taken.shared > 0) blocks = std::min(blocks, unit.shared / taken.shared);
  uint64_t of_simd = (blocks * of_block + unit.simds - 1) / unit.simds;
  waves = static_cast<uint32_t>(std::min<uint64_t>(waves, of_simd));
  return std::max(waves, 1u);
}

}  // namespace mneme::codegen::amdgpu
