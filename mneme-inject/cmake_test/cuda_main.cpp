// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
void run_halve(float* data);

int main() { run_halve(nullptr); }
