// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels need of a GPU's language, by the compiler's builtins alone: no vendor's header or library.
#pragma once

#ifdef MNEME_WORK_ITEM_PER_CHUNK
#define MNEME_KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 1)))
#else
#define MNEME_KERNEL extern "C" __attribute__((global))
#endif
#define MNEME_DEVICE __attribute__((device))
#define MNEME_SHARED __attribute__((shared))

// barrier_together(): of 32 work-items that are next to each other, which all of the group call.
//
// MNEME_GROUPS_AT_ONCE: so many work-groups of kLanes by kRows are to be under way on each multiprocessor, whatever
// that costs in registers. Where a group reads little, fewer leave the memory idle. Other compilers decide for
// themselves.
#ifdef __NVPTX__
#define MNEME_GROUPS_AT_ONCE(count) __attribute__((launch_bounds(kLanes * kRows, count)))
MNEME_DEVICE inline unsigned work_item_x() { return __nvvm_read_ptx_sreg_tid_x(); }
MNEME_DEVICE inline unsigned work_item_y() { return __nvvm_read_ptx_sreg_tid_y(); }
MNEME_DEVICE inline unsigned work_group() { return __nvvm_read_ptx_sreg_ctaid_x(); }
MNEME_DEVICE inline void barrier() { __syncthreads(); }
MNEME_DEVICE inline void barrier_together() { __nvvm_bar_warp_sync(~0U); }
#else
#define MNEME_GROUPS_AT_ONCE(count)
MNEME_DEVICE inline unsigned work_item_x() { return __builtin_amdgcn_workitem_id_x(); }
MNEME_DEVICE inline unsigned work_item_y() { return __builtin_amdgcn_workitem_id_y(); }
MNEME_DEVICE inline unsigned work_group() { return __builtin_amdgcn_workgroup_id_x(); }
MNEME_DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
MNEME_DEVICE inline void barrier_together() { barrier(); }
#endif
