// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
void run_scale(float* data);
void run_twice(float* data);

int main() {
  run_scale(nullptr);
  run_twice(nullptr);
}
