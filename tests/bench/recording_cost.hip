// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What recording costs an application, as it sees it: the subject of scripts/bench, section recording. Prints one line
// of JSON; times are in nanoseconds, the shortest of some unless said otherwise.
//
//   recording_cost calls        a launch, a launch and the wait for it, one with arguments of its own each time, an
//                               allocation with its release
//   recording_cost work ROUNDS BYTES
//                               kernels that change so much, each with an argument of its own, and a copy after every
//                               third, checked: all of them once recording has ended
//   recording_cost large        launches that change 1 % of 1 GiB, and a copy of that to memory not used before
//   recording_cost registered   the same with memory of the application's own (hipHostRegister)
//   recording_cost many COUNT   allocations of 256 bytes: each one's cost, launches, resident memory
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "../programs/check.h"

__global__ void touch(int* data) { ++data[threadIdx.x]; }

__global__ void change(unsigned char* data, std::size_t first, std::size_t count, int by) {
  std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) data[first + i] += by;
}

namespace {

using Clock = std::chrono::steady_clock;

template <typename Work>
double nanoseconds(const Work& work) {
  auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// The shortest time of `work` out of several rounds of `times` each, and the wait for all of them.
template <typename Work>
double best(int times, const Work& work) {
  double least = 1e18;
  for (int round = 0; round < 15; ++round) {
    double all = nanoseconds([&] {
      for (int i = 0; i < times; ++i) work();
      check(hipDeviceSynchronize());
    });
    least = std::min(least, all / times);
  }
  return least;
}

int* small_array() { return to_device(std::vector<int>(64)); }

void calls() {
  int* data = small_array();
  for (int i = 0; i < 1000; ++i) touch<<<1, 1>>>(data);  // recording ends among them
  check(hipDeviceSynchronize());
  double launch = best(5000, [&] { touch<<<1, 1>>>(data); });
  double synchronized = best(5000, [&] {
    touch<<<1, 1>>>(data);
    check(hipDeviceSynchronize());
  });
  auto* bytes = reinterpret_cast<unsigned char*>(data);
  int by = 0;
  for (int i = 0; i < 1000; ++i) change<<<1, 1>>>(bytes, 0, 1, ++by);
  check(hipDeviceSynchronize());
  double varying = best(5000, [&] { change<<<1, 1>>>(bytes, 0, 1, ++by); });
  double allocation = best(5000, [] {
    void* memory = nullptr;
    check(hipMalloc(&memory, 1000));
    check(hipFree(memory));
  });
  std::printf("{\"launch\":%.0f,\"synchronized\":%.0f,\"varying\":%.0f,\"allocation\":%.0f}\n", launch, synchronized,
              varying, allocation);
}

void work(int rounds, int bytes) {
  Test test("recording_cost");
  std::vector<unsigned char> values(bytes);
  unsigned char* data = to_device(values);
  unsigned expected = 0;
  int round = 0;
  auto go_on_until = [&](int end) {
    for (; round < end; ++round) {
      change<<<bytes / 256, 256>>>(data, 0, bytes, round);
      expected += round;
      if (round % 3 == 2) check(hipMemcpy(values.data(), data, 256, hipMemcpyDeviceToHost));
    }
    check(hipMemcpy(values.data(), data, bytes, hipMemcpyDeviceToHost));
  };
  go_on_until(1000);  // recording ends among them
  double time = nanoseconds([&] { go_on_until(1000 + rounds); });
  test.expect(values[bytes / 2] == expected % 256, "the sum is wrong");
  std::printf("{\"work\":%.0f}\n", time);
  std::exit(test.finish());
}

void large(bool registered) {
  const std::size_t kSize = std::size_t(1) << 30, kPart = kSize / 100;
  std::vector<std::uint64_t> noise(kSize / 8);
  std::uint64_t state = 88172645463325252u;
  for (std::uint64_t& word : noise) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word = state;
  }
  void* data = nullptr;
  if (registered) {
    data = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(hipHostRegister(data, kSize, hipHostRegisterMapped));
    std::memcpy(data, noise.data(), kSize);
  } else {
    check(hipMalloc(&data, kSize));
    check(hipMemcpy(data, noise.data(), kSize, hipMemcpyHostToDevice));
  }
  void* fresh = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::printf("{\"memcpy\":%.0f,\"launches\":[", nanoseconds([&] { std::memcpy(fresh, noise.data(), kSize); }));
  for (int k = 1; k <= 5; ++k) {
    double time = nanoseconds([&] {
      change<<<blocks_for(kPart, 256), 256>>>(static_cast<unsigned char*>(data), k * (kSize / 7), kPart, k);
      check(hipDeviceSynchronize());
    });
    std::printf("%s%.0f", k == 1 ? "" : ",", time);
  }
  std::printf("]}\n");
}

double resident_bytes() {
  long pages = 0, resident = 0;
  if (std::FILE* statm = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(statm, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(statm);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void many(std::size_t count) {
  int* data = small_array();
  touch<<<1, 1>>>(data);  // compiled
  check(hipDeviceSynchronize());
  std::vector<void*> memory(count);
  double before = resident_bytes();
  double allocation = nanoseconds([&] {
    for (void*& piece : memory) check(hipMalloc(&piece, 256));
  });
  for (void* piece : memory) *static_cast<volatile char*>(piece) = 1;
  double resident = resident_bytes() - before;
  std::printf("{\"allocation\":%.0f,\"resident\":%.3f,\"launches\":[", allocation / static_cast<double>(count),
              resident / (256.0 * static_cast<double>(count)));
  for (int k = 1; k <= 3; ++k) {
    double time = nanoseconds([&] {
      touch<<<1, k * 16>>>(data);
      check(hipDeviceSynchronize());
    });
    std::printf("%s%.0f", k == 1 ? "" : ",", time);
  }
  double release = nanoseconds([&] {
    for (void* piece : memory) check(hipFree(piece));
  });
  std::printf("],\"release\":%.0f}\n", release / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "calls") calls();
  if (mode == "work") work(std::atoi(argv[2]), std::atoi(argv[3]));
  if (mode == "large" || mode == "registered") large(mode == "registered");
  if (mode == "many") many(std::strtoull(argv[2], nullptr, 10));
  return 0;
}
