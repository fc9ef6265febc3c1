// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One translation unit, for one piece of bitcode.
#include "primitives.c"
#include "single.c"
#include "nvidia.c"
#include "ring.c"
#include "rounded.c"  // last: what it says of rounding modes holds to the end
