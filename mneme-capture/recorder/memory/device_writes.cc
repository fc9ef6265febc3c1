// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/device_writes.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"

namespace mneme::record {
namespace {

// Of <linux/magic.h>, which has not all of them.
constexpr uint32_t kXfs = 0x58465342, kNfs = 0x6969;

bool has_pinned_pages() {
  constexpr std::string_view kLine = "\nVmPin:";
  const std::string status = read_file("/proc/thread-self/status");
  const size_t line = status.find(kLine);
  return line == std::string::npos || std::strtoull(status.c_str() + line + kLine.size(), nullptr, 10) != 0;
}

// Unless it is asked for O_DIRECT.
bool reads_through_its_cache(int file) {
  struct statfs about{};
  if (::fstatfs(file, &about) != 0) return false;
  switch (static_cast<uint32_t>(about.f_type)) {
    case EXT4_SUPER_MAGIC:
    case kXfs:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case SQUASHFS_MAGIC:
    case kNfs:
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
      return true;
    default:
      return false;
  }
}

// Memory's (/dev/null, /dev/urandom), and terminals.
bool is_ordinary_device(dev_t device) {
  const unsigned major = ::major(device);
  return major == 1 || major == 4 || major == 5 || (major >= 136 && major <= 143);
}

bool is_ordinary_socket(int socket) {
  int domain = -1;
  socklen_t size = sizeof domain;
  if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  return domain == AF_UNIX || domain == AF_INET || domain == AF_INET6 || domain == AF_NETLINK || domain == AF_PACKET;
}

// What is read so is pinned only while it is, and counted nowhere; but by then the descriptor is open.
bool may_read_directly(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH)) return false;
  if (flags & O_DIRECT) return true;
  struct stat about{};
  if (::fstat(descriptor, &about) != 0) return false;
  if (S_ISREG(about.st_mode)) return !reads_through_its_cache(descriptor);
  if (S_ISCHR(about.st_mode)) return !is_ordinary_device(about.st_rdev);
  if (S_ISSOCK(about.st_mode)) return !is_ordinary_socket(descriptor);
  std::error_code gone;
  return std::filesystem::read_symlink("/proc/thread-self/fd/" + std::to_string(descriptor), gone) ==
         "anon_inode:[io_uring]";
}

}  // namespace

bool devices_may_write() try {
  const std::filesystem::directory_iterator descriptors("/proc/thread-self/fd");
  return has_pinned_pages() || std::any_of(begin(descriptors), end(descriptors), [](const auto& entry) {
           return may_read_directly(std::atoi(entry.path().filename().c_str()));
         });
} catch (const std::exception&) {
  return true;  // that is not to be known
}

}  // namespace mneme::record
