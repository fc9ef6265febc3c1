// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme {

// Confines this process, a child that parses or runs code from a stranger, from now on, as far as the system allows: no
// new privileges, no core dumps, and a seccomp filter under which starting programs, sockets, tracing other processes,
// and opening files for writing fail with EPERM. A system without seccomp leaves only the first two; that is no error.
void confine_process();

}  // namespace mneme
