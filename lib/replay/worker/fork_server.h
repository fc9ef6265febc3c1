// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>

#include "device/device.h"
#include "replay/worker/channel.h"

namespace mneme::run {

// Serves instances of a device whose kernels run as part of a process, each by a child of this process. Neither this
// process nor the memory that a child begins with has anything of a kernel that ran before: so no instance's outcome
// depends on another. Only the recorded memory's pages are shared from child to child, where the device keeps them;
// each child writes all of them before its kernel runs.
//
// `serve` is called in the child, with its end of a connection to mneme-run; the child ends when it returns. Returns
// when mneme-run is gone. Throws Error when there can be no child.
void serve_in_children(Channel& parent, device::Device& device, const std::function<void(Channel)>& serve);

}  // namespace mneme::run
