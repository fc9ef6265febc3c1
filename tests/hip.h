// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For programs without check.h: what the build precompiles for the tests that compile them.
#pragma once
#include <hip/hip_runtime.h>
