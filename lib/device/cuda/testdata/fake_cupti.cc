// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a CUPTI that has nothing to offer, ahead of one that a toolkit may have and that knows no played driver.
extern "C" const int mneme_no_cupti = 1;
