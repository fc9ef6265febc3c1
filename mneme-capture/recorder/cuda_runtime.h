// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "recorder/cuda_api.h"
#include "recorder/next.h"
#include "recorder/process.h"
#include "recorder/runtime.h"

namespace mneme::record::cuda {

inline constexpr char kLibrary[] = "libcudart.so.13";
inline constexpr char kDriver[] = "libcuda.so.1";

// NVIDIA's runtime. Its device memory is out of the capture's reach: copies lie in memory that the two share.
class CudaRuntime final : public Runtime {
 public:
  void reserve(uint64_t base, uint64_t size) override;
  void unreserve(uint64_t base, uint64_t size) override;
  std::optional<Fd> back(uint64_t address, uint64_t size, int device) override;
  void unback(uint64_t address, uint64_t size) override;
  bool copies() override { return true; }
  void refresh(const std::vector<MemoryRange>& ranges) override;
  std::optional<Fd> copy(MemoryRange range, int device) override;
  void drop_copy(uint64_t address) override;
  bool survives_fork() override { return false; }
  bool adopt_host(void* address, uint64_t size) override;
  void disown_host(void* address) override;
  int device_count() override;
  int device() override;
  int device_of(void* stream) override;
  int synchronize() override;
  int synchronize(void* stream) override;
  int wait() override { return synchronize(); }
  void hold() override;
  void let_go() override;
  bool is_capturing(void* stream) override;
  std::string error_text(int error) override;
  bool prepare(const void* host_function, int device) override;
  std::optional<MemoryRange> global(void* fat_binary, const std::string& name, int device) override;

  // What start-up code registers.
  void add_variable(void* fat_binary, const void* host_variable, const char* name);
  // Returns where its variables lie that copy() was asked for.
  std::vector<MemoryRange> remove_variables(void* fat_binary);

  // Around a call that changes memory: waits while this is held back by hold() in another thread.
  class Changing {
   public:
    explicit Changing(CudaRuntime& runtime);
    ~Changing();
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    CudaRuntime& runtime_;
    bool locked_;
  };

  // Set once the application has begun to build a graph from a stream; asking is not free.
  std::atomic<bool> captures_streams{false};

 private:
  struct Copy {
    uint64_t size = 0;
    std::byte* mapped = nullptr;
    int device = 0;
    bool pinned = false;
  };
  std::optional<Fd> make_copy(MemoryRange range, int device);
  std::map<uint64_t, Copy>::iterator copy_of(uint64_t address);
  void fetch(Copy& copy, uint64_t start, MemoryRange range);

  std::mutex mutex_;                                               // of the maps
  std::map<uint64_t, Copy> copies_;                                // by the device's address
  std::map<void*, std::map<std::string, const void*>> variables_;  // host variables, by fat binary and name
  std::map<std::pair<void*, std::string>, MemoryRange> found_;
  std::shared_mutex changes_;
};

CudaRuntime& runtime();

// The recorder, if this process uses NVIDIA's runtime; null with the stand-in, which calls what is recorded as HIP's.
Core* recorder();
void start();

}  // namespace mneme::record::cuda
