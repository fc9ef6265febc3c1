// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's fat binaries. u32 magic, u16 version, u16 size of this header, u64 size of the entries, which follow: each
//   u16 kind  u16  u32 header size  u64 size  u32 compressed size  u32  u16 minor  u16 major  u32 processor  u32  u32
//   u64 flags  u64  u64 uncompressed size
// what else its header has, and `size` bytes: a cubin (an ELF image) or PTX (text), as they are or compressed.
#pragma once
#include "objects/embedded.h"

namespace mneme::objects {

bool is_cuda_fatbin(Bytes bytes);

// How many bytes the fat binary has that `bytes` starts with, by its header.
uint64_t size_of_cuda_fatbin(Bytes bytes, const std::string& where);

// Appends the cubins of the fat binary that `bytes` starts with, and to `ptx`, unless null, its PTX; what is compressed
// is not unpacked. Returns the fat binary's size. Where there are cubins compressed in a way that is not understood,
// they are left out too, and `trouble` says so. Throws Error on a malformed fat binary.
uint64_t read_cuda_fatbin(Bytes bytes, const std::string& where, std::vector<DeviceCode>& out, std::string& trouble,
                          std::vector<DeviceCode>* ptx = nullptr);

// What a cubin by itself is for: "nvptx64-nvidia-cuda".
inline constexpr std::string_view kCudaTriple = "nvptx64-nvidia-cuda";
inline constexpr uint16_t kCudaMachine = 190;  // EM_CUDA

}  // namespace mneme::objects
