// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check sync: what the detector (device/host/checks/synchronisation.h) has to know beside track_synchronisation().
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Before raising, which takes masks for granted and makes all barriers alike.
//
//   shfl.sync(%mask, …)        %here = mneme.wave.ballot(true)
//                       ──▶    service.track_mask(%mask, %here, site)
//                              shfl.sync(%mask, …)
//   amdgcn.s.barrier()         service.track_sync(kTrackedBareBarrier, site)      ; where no fence is before it
//                              amdgcn.s.barrier()
void track_masks_and_bare_barriers(llvm::Module& module);

// Marks where work-items come to a barrier, and where they end. Comes before keep_lanes_in_step(), which adds barriers.
// A barrier has kMissedAtEnd if those who do not come to it have nothing more to do: `if (i >= n) return;`.
void track_arrivals(llvm::Module& module, const std::string& kernel);

}  // namespace mneme::codegen::host
