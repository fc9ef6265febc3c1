// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

size_t size_for(size_t choices) { return sizeof(ReportHeader) + choices * sizeof(ChoiceReport); }

// A process that execs another program, or whose number comes again, has several.
Fd new_file(const std::string& folder) {
  for (int i = 0;; ++i) {
    const std::string path = folder + "/" + std::to_string(::getpid()) + "." + std::to_string(i);
    Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file || errno != EEXIST) return file;
  }
}

}  // namespace

Report::Report(const std::string& folder, size_t choices) : size_(size_for(choices)) {
  Fd file = folder.empty() ? zeroed_memory_file("mneme-applied", size_) : new_file(folder);
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size_)) != 0) {
    throw system_error("cannot make a report in '" + folder + "'");
  }
  memory_ = memory::map_own(size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get());
  if (memory_ == MAP_FAILED) throw system_error("cannot map the report");
  header().magic = kReportMagic;
  header().choices = choices;
}

Report::Report(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) throw system_error("cannot open '" + path + "'");
  size_ = static_cast<size_t>(about.st_size);
  if (size_ < sizeof(ReportHeader)) throw Error::of("'{}' is no report", path);
  memory_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory_ == MAP_FAILED) throw system_error("cannot map '" + path + "'");
  const bool whole =
      header().magic == kReportMagic && header().choices == (size_ - sizeof(ReportHeader)) / sizeof(ChoiceReport);
  if (whole) return;
  ::munmap(memory_, size_);
  throw Error::of("'{}' is no report of this Mneme's", path);
}

Report::~Report() { ::munmap(memory_, size_); }

std::span<ChoiceReport> Report::choices() {
  auto* first = reinterpret_cast<ChoiceReport*>(static_cast<char*>(memory_) + sizeof(ReportHeader));
  return {first, header().choices};
}

std::atomic<uint64_t>* Report::miss(std::string_view kernel, std::string_view reason) {
  std::lock_guard lock(mutex_);
  kernel = kernel.substr(0, sizeof(MissReport::kernel) - 1);
  reason = reason.substr(0, sizeof(MissReport::reason) - 1);
  for (MissReport& one : header().misses) {
    if (!one.ready) {
      put_text(one.kernel, kernel);
      put_text(one.reason, reason);
      one.ready = 1;
    }
    if (one.kernel == kernel && one.reason == reason) return &one.launches;
  }
  return nullptr;
}

void put_text(std::span<char> field, std::string_view text) {
  const size_t length = std::min(text.size(), field.size() - 1);
  std::memcpy(field.data(), text.data(), length);
  field[length] = '\0';
}

}  // namespace mneme::record
