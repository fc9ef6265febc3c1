// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that ends in each way that there is, right after a launch, and says what of it was still called.
#include <hip/hip_runtime.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

int* data = nullptr;

void launch(int value) { add<<<1, 64>>>(data, value); }

void say(const char* what) { (void)!write(1, what, std::string(what).size()); }

struct Global {
  ~Global() { say("destructor\n"); }
} global;

void handle(int) {
  say("signal\n");
  _exit(9);
}

// The other thread goes on, and the process ends with it.
void leave_main_thread() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    launch(2);
    if (hipDeviceSynchronize() == hipSuccess) say("other thread\n");
  }).detach();
  pthread_exit(nullptr);
}

[[noreturn]] void leave_from_another_thread() {
  std::thread([] { std::exit(4); }).join();
  std::abort();
}

[[noreturn]] void leave_from_a_callback() {
  (void)hipStreamAddCallback(nullptr, [](hipStream_t, hipError_t, void*) { std::quick_exit(11); }, nullptr, 0);
  for (;;) pause();
}

const std::map<std::string, void (*)()> ways = {
    {"return", [] {}},
    {"exit", [] { std::exit(3); }},
    {"_exit", [] { _exit(5); }},
    {"quick_exit", [] { std::quick_exit(6); }},
    {"abort", [] { std::abort(); }},
    {"throw", [] { throw std::runtime_error("thrown"); }},
    {"pthread_exit", leave_main_thread},
    {"exit-in-thread", leave_from_another_thread},
    {"quick_exit-in-callback", leave_from_a_callback},
    {"signal", [] { std::raise(SIGKILL); }},
    {"handled-signal", [] { std::raise(SIGTERM); }},
};

int main(int, char** arguments) {
  std::atexit([] { say("handler\n"); });
  std::at_quick_exit([] { say("quick handler\n"); });
  std::signal(SIGTERM, handle);
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 99;
  if (hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess) return 99;
  launch(1);
  ways.at(arguments[1])();
  return 0;
}
