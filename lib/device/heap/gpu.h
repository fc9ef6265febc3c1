// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the allocator (allocator.h) needs of a GPU: the launch, and atomic operations among all threads of the device,
// relaxed, with a fence.
#pragma once

using u32 = unsigned;
using u64 = unsigned long long;

#define DEVICE __attribute__((device))

namespace {

struct Size {
  u64 x, y, z;
};

#ifdef __NVPTX__
DEVICE Size block_size() {
  return {static_cast<u32>(__nvvm_read_ptx_sreg_ntid_x()), static_cast<u32>(__nvvm_read_ptx_sreg_ntid_y()),
          static_cast<u32>(__nvvm_read_ptx_sreg_ntid_z())};
}
DEVICE Size grid_size() {
  return {static_cast<u32>(__nvvm_read_ptx_sreg_nctaid_x()), static_cast<u32>(__nvvm_read_ptx_sreg_nctaid_y()),
          static_cast<u32>(__nvvm_read_ptx_sreg_nctaid_z())};
}
DEVICE Size block_index() {
  return {static_cast<u32>(__nvvm_read_ptx_sreg_ctaid_x()), static_cast<u32>(__nvvm_read_ptx_sreg_ctaid_y()),
          static_cast<u32>(__nvvm_read_ptx_sreg_ctaid_z())};
}
DEVICE Size thread_index() {
  return {static_cast<u32>(__nvvm_read_ptx_sreg_tid_x()), static_cast<u32>(__nvvm_read_ptx_sreg_tid_y()),
          static_cast<u32>(__nvvm_read_ptx_sreg_tid_z())};
}
DEVICE u32 load(u32* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
DEVICE u32 add(u32* word, u32 number) { return __atomic_fetch_add(word, number, __ATOMIC_RELAXED); }
DEVICE u32 set(u32* word, u32 bits) { return __atomic_fetch_or(word, bits, __ATOMIC_RELAXED); }
DEVICE u32 keep(u32* word, u32 bits) { return __atomic_fetch_and(word, bits, __ATOMIC_RELAXED); }
DEVICE bool swap(u32* word, u32 from, u32 to) {
  return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
DEVICE void fence() { __nvvm_membar_gl(); }
#else
// The head of the packet of a launch.
struct Packet {
  unsigned short header, setup, block[3], reserved;
  u32 threads[3];
};
DEVICE const Packet& packet() { return *(const Packet*)__builtin_amdgcn_dispatch_ptr(); }
DEVICE Size block_size() { return {packet().block[0], packet().block[1], packet().block[2]}; }
DEVICE Size grid_size() {
  const Size block = block_size();
  return {(packet().threads[0] + block.x - 1) / block.x, (packet().threads[1] + block.y - 1) / block.y,
          (packet().threads[2] + block.z - 1) / block.z};
}
DEVICE Size block_index() {
  return {__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()};
}
DEVICE Size thread_index() {
  return {__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()};
}
DEVICE u32 load(u32* word) { return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE u32 add(u32* word, u32 number) {
  return __hip_atomic_fetch_add(word, number, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 set(u32* word, u32 bits) {
  return __hip_atomic_fetch_or(word, bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE u32 keep(u32* word, u32 bits) {
  return __hip_atomic_fetch_and(word, bits, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE bool swap(u32* word, u32 from, u32 to) {
  return __hip_atomic_compare_exchange_strong(word, &from, to, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                              __HIP_MEMORY_SCOPE_AGENT);
}
DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }
#endif

DEVICE u64 product(Size size) { return size.x * size.y * size.z; }
DEVICE u64 number_in(Size size, Size at) { return (at.z * size.y + at.y) * size.x + at.x; }

}  // namespace
