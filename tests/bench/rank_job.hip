// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One process of an MPI job (rank PMI_RANK): a table that is the same in all of them, and a field of its own. Each step
// reads the table into the field, and then works on the field alone. Arguments: MiB of the table, MiB of the field, steps.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void look_up(const float* table, uint32_t entries, float* field, uint32_t size, uint32_t step) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) field[i] += table[(i * 7919u + step) % entries];
}

__global__ void smooth(float* field, uint32_t size) {
  uint32_t i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < size) field[i] = 0.5f * (field[i] + field[i + 1]);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const uint32_t entries = std::strtoul(argv[1], nullptr, 10) << 18, size = std::strtoul(argv[2], nullptr, 10) << 18;
  const uint32_t steps = std::strtoul(argv[3], nullptr, 10);
  const char* rank = std::getenv("PMI_RANK");
  std::vector<float> table(entries), field(size);
  uint32_t state = 1;
  auto fill = [&](std::vector<float>& values) {
    for (float& value : values) {
      state = state * 1664525u + 1013904223u;
      value = 1.0f + static_cast<float>(state >> 8) / (1 << 24);
    }
  };
  fill(table);
  state = 17u + (rank != nullptr ? std::strtoul(rank, nullptr, 10) : 0u);
  fill(field);
  float *device_table = nullptr, *device_field = nullptr;
  if (hipMalloc(&device_table, entries * sizeof(float)) != hipSuccess) return 1;
  if (hipMalloc(&device_field, size * sizeof(float)) != hipSuccess) return 1;
  if (hipMemcpy(device_table, table.data(), entries * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  if (hipMemcpy(device_field, field.data(), size * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  for (uint32_t step = 0; step < steps; step++) {
    look_up<<<(size + 255) / 256, 256>>>(device_table, entries, device_field, size, step);
    smooth<<<(size / 2 + 255) / 256, 256>>>(device_field, size);
  }
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
