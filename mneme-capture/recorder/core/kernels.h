// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "objects/embedded.h"
#include "recorder/core/kernel_code.h"
#include "recorder/core/policy.h"
#include "recorder/runtime/launch_request.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

struct SettledLaunch;

// What is known of one kernel's code, wherever it was registered (the same template may come from several units).
// Guarded by the core's lock.
struct Recording {
  explicit Recording(const Limits& limits) : policy(limits) {}
  Policy policy;
  bool asked = false;                                  // the parent was asked whether it wants this kernel
  bool selected = false;                               // its answer
  std::map<std::vector<uint64_t>, Digest> sent;        // to the parent: ids of the kernel, by where its functions are
  std::string refused;                                 // why it cannot be recorded; empty: it can
  uint32_t launches = 0;                               // counter of all launches; 0 until the first
  std::map<std::string, uint32_t, std::less<>> slots;  // counters of launches not recorded, by reason
  // Those recorded, while they are few and others can be told from them at a glance (settled.h).
  std::vector<std::shared_ptr<const SettledLaunch>> recorded;
  bool tells_recorded = true;
};

// A host function that stands for a kernel. Lives until its fat binary is unregistered.
struct Stub {
  const void* function = nullptr;
  ProgramCode code;
  std::string name;  // as the linker sees it
  std::string demangled;
  const bundle::KernelInfo* info = nullptr;  // null: `trouble` says why
  std::string trouble;
  // Beside `info`: its json, if that is known; its IR, or, of a kernel without, the code that ran and its PTX.
  std::string_view json;
  Bytes bytes, ptx;
  Bytes source;                                      // what `info` names by source_text
  const std::set<std::string>* variables = nullptr;  // of all kernels with IR there, beside `info`
  std::shared_ptr<Recording> recording;
  bool resolved = false;
  // It has no IR, and this is what find() knows of it for a device on which it has not been launched: see take_code().
  bool asks_for_code = false;
  std::map<int, std::shared_ptr<const Stub>> on_device = {};  // for the others; changed under the lock of Kernels
  // Of one of those, what is described by `info`, and for which processor.
  std::shared_ptr<const KernelCode> code_only = {};
  std::string processor = {};
};

// Fat binaries and their host stubs as the application registers them. Code is looked for at a kernel's first launch.
// Thread-safe; a Stub's own members are settled once find() has returned it.
class Kernels {
 public:
  // Of a fat binary's kernels without IR, the records that its loader made; empty: none.
  using LiftedRecords = std::function<Bytes(void* handle)>;

  // `processor` gives that of the first device, for which code is looked at first; empty: it is not known.
  Kernels(const Limits& limits, std::function<std::string()> processor, LiftedRecords lifted)
      : limits_(limits), processor_(std::move(processor)), lifted_(std::move(lifted)) {}

  // `image` starts at the offload bundle's header; null when the registration was not understood.
  void add_fat_binary(void* handle, const std::byte* image);
  // Loaded at run time; its functions are stubs too.
  void add_module(void* handle, std::string image);
  void add_stub(void* handle, const void* function, const char* name);
  void remove_fat_binary(void* handle);

  // nullptr: not registered here.
  std::shared_ptr<const Stub> find(const void* function, int device = 0);
  // Of a kernel without IR, which is about to be launched on a device: has it recorded as the code that its processor
  // runs. Returns it as find() does from then on.
  std::shared_ptr<const Stub> take_code(const Stub& stub, int device, const std::string& processor,
                                        const AskForParameters& ask, const objects::LaunchArguments& arguments,
                                        const IsRecorded& is_recorded);

  // Around fork(); and for the child, whose kernels the parent knows nothing of yet.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void begin_again();

 private:
  struct FatBinary {
    const std::byte* image = nullptr;
    size_t size = SIZE_MAX;  // known of a module
    std::string owned;       // a module's bytes
    bool opened = false, parsed = false, looked_for_units = false;
    std::string trouble;
    std::vector<objects::DeviceCode> code, ptx;
    std::list<std::vector<objects::EmbeddedKernel>> lists;
    std::map<std::string, const objects::EmbeddedKernel*> kernels;
    std::set<std::string> variables;  // theirs
    std::map<Digest, Bytes> sources;
  };

  void open(void* handle, FatBinary& binary);
  static void parse(FatBinary& binary);
  static void add_linked_units(FatBinary& binary);
  static void add(Bytes records, const std::string& where, FatBinary& binary);
  // Parses the fat binary if it has IR; which is not looked for further than to a cubin with this kernel.
  void look_for(const std::string& kernel, void* handle, FatBinary& binary);
  void resolve(Stub& stub);
  std::shared_ptr<Recording> recording_of(const Digest& id);

  Limits limits_;
  std::function<std::string()> processor_;
  LiftedRecords lifted_;
  std::mutex mutex_;
  std::map<void*, FatBinary> binaries_;                       // by handle
  std::map<const void*, std::shared_ptr<Stub>> stubs_;        // by host function
  std::map<std::string, std::shared_ptr<Recording>> others_;  // kernels without code, by name
  std::map<Digest, std::shared_ptr<Recording>> recordings_;   // by static hash
};

std::string demangle(const std::string& name);

}  // namespace mneme::record
