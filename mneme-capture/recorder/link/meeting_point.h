// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mneme::record {

class SocketAddress {
 public:
  SocketAddress(const sockaddr_un& address, size_t size) : address_(address), size_(static_cast<socklen_t>(size)) {}
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_;
  socklen_t size_;
};

// nullopt: it is too long.
std::optional<SocketAddress> abstract_address(const std::string& name);
std::optional<SocketAddress> file_address(const std::string& path);

// Where an application's processes find mneme-capture, as the environment variable (kSocketVariable) has it:
// "NAME:PATH", or "NAME" where there is no socket in a folder. The name tells whether mneme-capture is still there.
struct MeetingPoint {
  std::string name;  // of an abstract socket
  std::string path;  // of a socket; may be empty

  static MeetingPoint make(uint64_t unique);  // this process's
  static MeetingPoint parse(const std::string& text);
  std::string text() const { return path.empty() ? name : name + ":" + path; }

  // mneme-capture has ended. False where that cannot be known: it was not started in this container.
  bool deserted() const;
};

}  // namespace mneme::record
