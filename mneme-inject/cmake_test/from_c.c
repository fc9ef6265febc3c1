/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <mneme/annotate.h>

int main(void) {
  double memory[4];
  mneme_annotate(memory, MNEME_F64, 1e-6, MNEME_RELATIVE, MNEME_LINF, "memory");
  mneme_unannotate(memory);
  return 0;
}
