// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One translation unit, for one piece of bitcode.
#include "primitives.c"
#include "single.c"
