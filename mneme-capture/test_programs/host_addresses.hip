// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that registers host memory, and keeps addresses of the host's in device memory.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

struct Table {
  int* registered;        // what a kernel uses
  const void* others[5];  // what only the host makes sense of
  int sum;
};

__global__ void add_up(Table* table, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += table->registered[i]++;
  table->sum = sum;
}

static int variable = 7;

int main(int, char** arguments) {
  std::vector<int> numbers(100'000, 3);
  int on_stack = 5;
  if (hipHostRegister(numbers.data(), numbers.size() * sizeof(int), 0) != hipSuccess) return 1;
  Table host{numbers.data(),
             {&on_stack, &variable, arguments[0], reinterpret_cast<const void*>(&std::malloc), std::getenv("PATH")},
             0};
  Table* table = nullptr;
  if (hipMalloc(&table, sizeof host) != hipSuccess) return 2;
  if (hipMemcpy(table, &host, sizeof host, hipMemcpyHostToDevice) != hipSuccess) return 3;
  for (int count : {100, 1000}) add_up<<<1, 1>>>(table, count);
  if (hipMemcpy(&host, table, sizeof host, hipMemcpyDeviceToHost) != hipSuccess) return 4;
  if (host.sum != 3100 || numbers[99] != 5 || *static_cast<const int*>(host.others[0]) != 5) return 5;
  if (hipHostUnregister(numbers.data()) != hipSuccess || hipFree(table) != hipSuccess) return 6;
  std::fprintf(stderr, "host_addresses: ok\n");
  return 0;
}
