// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mneme/MnemeAnnotation.hpp>

int annotated() { return 1; }
