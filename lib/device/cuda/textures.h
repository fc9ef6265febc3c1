// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

#include "bundle/textures.h"
#include "device/cuda/driver.h"
#include "device/device.h"
#include "device/gpu/recorded_memory.h"

namespace mneme::device::cuda {

// The textures and surfaces of a recorded launch, made anew: in the current context, over recorded memory and over
// arrays of its own, whose contents are in the launch's segments between executions.
class Textures {
 public:
  // Throws Error with what the driver refuses. `memory` is what is mapped, for as long as this lives.
  Textures(const Launch& launch, const gpu::RecordedMemory& memory);
  ~Textures();
  Textures(const Textures&) = delete;
  Textures& operator=(const Textures&) = delete;

  bool are_of(const Launch& launch) const { return arrays_ == launch.arrays && objects_ == launch.textures; }

  void fill() const;                               // the arrays, from their segments
  void put_handles(std::string& arguments) const;  // where the recorded ones lie
  void read_back() const;                          // of the arrays that kernels may write, to their segments

 private:
  struct Made {
    vendor::cuda::Array array = nullptr;
    bundle::ArrayLayout layout;
    std::vector<vendor::cuda::Array> levels;
    bool written = false;  // a surface stands for it
  };

  void make(const gpu::RecordedMemory& memory);
  void make_array(const bundle::TextureArray& array);
  void make_object(const bundle::TextureObject& object, const gpu::RecordedMemory& memory);
  Made& made_of(uint64_t segment);
  void copy(size_t array, bool to_array) const;
  void destroy();

  std::vector<bundle::TextureArray> arrays_;
  std::vector<bundle::TextureObject> objects_;
  std::vector<Made> made_;                     // of each array
  std::vector<vendor::cuda::Object> handles_;  // of each object
};

}  // namespace mneme::device::cuda
