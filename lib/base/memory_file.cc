// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace mneme {
namespace {

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/tmp";
}

// A file that has no name any more.
Fd unnamed_file(const std::string& folder) {
  std::string path = folder + "/mneme-XXXXXX";
  Fd file(::mkostemp(path.data(), O_CLOEXEC));
  if (file) ::unlink(path.c_str());
  return file;
}

Fd anonymous_file(const std::string& name) { return Fd(::memfd_create(name.c_str(), MFD_CLOEXEC)); }

struct SetAside {
  std::mutex mutex;
  std::vector<Fd> files;
};

SetAside& set_aside() {
  static auto* only = new SetAside;
  return *only;
}

Fd file_set_aside() {
  std::lock_guard lock(set_aside().mutex);
  auto& files = set_aside().files;
  if (files.empty()) return Fd();
  Fd file = std::move(files.back());
  files.pop_back();
  return file;
}

}  // namespace

void set_memory_files_aside(size_t count) {
  if (anonymous_file("probe")) return;
  std::lock_guard lock(set_aside().mutex);
  while (set_aside().files.size() < count) {
    Fd file = unnamed_file(temporary_folder());
    if (!file) return;
    set_aside().files.push_back(std::move(file));
  }
}

uint64_t largest_file() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

Fd memory_file(const std::string& name, Bytes contents) {
  Fd file = anonymous_file(name);
  if (!file) file = file_set_aside();
  if (!file) file = unnamed_file(temporary_folder());
  if (!file) throw system_error("cannot create a file in memory");
  write_all(file.get(), contents, "a file in memory");
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

Fd zeroed_memory_file(const std::string& name, uint64_t size) {
  // Asked first: growing beyond the limit is a signal that ends programs.
  if (size > largest_file()) {
    throw Error::of("the process may make files of {} bytes at most (ulimit -f), but {} bytes of memory are needed",
                    largest_file(), size);
  }
  auto length = static_cast<off_t>(size);
  Fd file = anonymous_file(name);
  if (file && ::ftruncate(file.get(), length) == 0) return file;
  // Whoever writes to a mapping where the disk is full dies of it: the space is taken now.
  for (const std::string& folder : {std::string("/dev/shm"), temporary_folder()}) {
    file = unnamed_file(folder);
    if (file && ::fallocate(file.get(), 0, 0, length) == 0) return file;
  }
  throw system_error("cannot create a file in memory");
}

}  // namespace mneme
