// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::record {

// Whether anything but processors may be writing to pages of this process, which page tables do not note: to what is
// pinned for network cards (ibv_reg_mr) or io_uring, and while something is read from files that are open for O_DIRECT,
// or lie in file systems that may read past their cache (FUSE, 9P, Lustre and others); from devices and sockets that
// are not among the ordinary ones, too. Also where that is not to be known.
bool devices_may_write();

}  // namespace mneme::record
