// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/page_scan.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mneme::record {
namespace {

// Of <linux/userfaultfd.h> and <linux/fs.h>, which are older than that on many systems.
constexpr int kUserModeOnly = 1;
constexpr uint64_t kSharedMemory = 1 << 12, kAsynchronous = 1 << 15;  // features
constexpr uint64_t kIsWritten = 1 << 1, kIsPresent = 1 << 3;
constexpr uint64_t kProtectMatching = 1 << 0, kOnlyWhereNoted = 1 << 1;

struct Found {
  uint64_t begin, end, categories;
};

struct ScanArguments {
  uint64_t size, flags, begin, end, walked_to, found, room, most_pages;
  uint64_t inverted, all_of, any_of, returned;
};

constexpr unsigned long kScan = _IOWR('f', 16, ScanArguments);

}  // namespace

struct PageScan::Request {
  uint64_t flags, inverted;
};

Fd PageScan::make_protector() {
  Fd protector(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly)));
  if (!protector) return {};
  uffdio_api features{};
  features.api = UFFD_API;
  features.features = kAsynchronous | kSharedMemory;
  if (::ioctl(protector.get(), UFFDIO_API, &features) != 0) return {};
  return protector;
}

bool PageScan::can_protect(int protector, MemoryRange memory) {
  uffdio_register pages{};
  pages.range = {memory.address, memory.size};
  pages.mode = UFFDIO_REGISTER_MODE_WP;
  return ::ioctl(protector, UFFDIO_REGISTER, &pages) == 0;
}

void PageScan::forget(int protector, MemoryRange memory) {
  uffdio_range pages{memory.address, memory.size};
  // Where it fails, the memory is gone already.
  [[maybe_unused]] int status = ::ioctl(protector, UFFDIO_UNREGISTER, &pages);
}

void PageScan::unprotect(int protector, MemoryRange memory) {
  uffdio_writeprotect pages{};
  pages.range = {memory.address, memory.size};
  // Where it fails, pages stay protected: they are written all the same.
  [[maybe_unused]] int status = ::ioctl(protector, UFFDIO_WRITEPROTECT, &pages);
}

// The calling thread's, since the process's first may have ended.
PageScan::PageScan() : pagemap_(::open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC)) {}

// Of pages that are mapped. Others have no note as a rule, and get none, which would take memory: they may have been
// written, and put out of sight since.
bool PageScan::scan(const Request& request, MemoryRange memory, std::vector<MemoryRange>& runs) const {
  std::vector<Found> found(256);
  const uint64_t end = memory.address + memory.size;
  for (uint64_t at = memory.address; at < end;) {
    ScanArguments arguments{};
    arguments.size = sizeof arguments;
    arguments.flags = request.flags;
    arguments.begin = at;
    arguments.end = end;
    arguments.found = reinterpret_cast<uint64_t>(found.data());
    arguments.room = found.size();
    arguments.inverted = request.inverted;
    arguments.all_of = kIsWritten | kIsPresent;
    arguments.returned = kIsWritten;
    const int count = ::ioctl(pagemap_.get(), kScan, &arguments);
    if (count < 0 || arguments.walked_to <= at) return false;
    for (int i = 0; i < count; ++i) {
      const Found& run = found[static_cast<size_t>(i)];
      const bool goes_on = !runs.empty() && runs.back().address + runs.back().size == run.begin;
      if (!goes_on) runs.push_back({run.begin, 0});
      runs.back().size += run.end - run.begin;
    }
    at = arguments.walked_to;
  }
  return true;
}

bool PageScan::add_protected(MemoryRange memory, std::vector<MemoryRange>& runs) const {
  return scan({kOnlyWhereNoted, kIsWritten}, memory, runs);
}

bool PageScan::add_written_and_protect(MemoryRange memory, std::vector<MemoryRange>& runs) const {
  return scan({kOnlyWhereNoted | kProtectMatching, 0}, memory, runs);
}

}  // namespace mneme::record
