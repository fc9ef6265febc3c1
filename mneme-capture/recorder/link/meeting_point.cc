// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/meeting_point.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace mneme::record {
namespace {

// `text` at `offset` of an address.
std::optional<SocketAddress> address_of(const std::string& text, size_t offset) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (offset + text.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path + offset, text.data(), text.size());
  return SocketAddress(address, offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

// What process numbers of this process mean something in.
uint64_t process_namespace() {
  struct stat about{};
  return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

std::optional<SocketAddress> abstract_address(const std::string& name) { return address_of(name, 1); }
std::optional<SocketAddress> file_address(const std::string& path) { return address_of(path, 0); }

MeetingPoint MeetingPoint::make(uint64_t unique) {
  // As long every time: where the application's stack begins depends on its environment.
  return {fmt::format("mneme-capture-{:010}-{}-{:016x}", ::getpid(), process_namespace(), unique), {}};
}

MeetingPoint MeetingPoint::parse(const std::string& text) {
  size_t colon = text.find(':');
  if (colon == std::string::npos) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool MeetingPoint::deserted() const {
  int process = 0;
  uint64_t its_namespace = 0;
  if (std::sscanf(name.c_str(), "mneme-capture-%d-%" SCNu64 "-", &process, &its_namespace) != 2) return false;
  return its_namespace == process_namespace() && ::kill(process, 0) != 0 && errno == ESRCH;
}

}  // namespace mneme::record
