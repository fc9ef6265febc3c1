// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace mneme::run {
namespace {

// type, number of fields, and then for each field its size and its bytes; both ends are one machine.
struct Header {
  uint32_t type = 0;
  uint32_t fields = 0;
};
constexpr uint32_t kMaxFields = 16;

}  // namespace

bool Channel::wait(short events, const Deadline& deadline) {
  for (;;) {
    int milliseconds = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
      if (left <= 0) throw TimedOut{};
      milliseconds = static_cast<int>(std::min<long>(left, 1 << 30));
    }
    pollfd entry{fd_.get(), events, 0};
    int ready = ::poll(&entry, 1, milliseconds);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for the worker");
  }
}

bool Channel::write(std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      wait(POLLOUT, deadline);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Channel::read(char* out, size_t size, const Deadline& deadline) {
  while (size > 0) {
    ssize_t n = ::recv(fd_.get(), out, size, MSG_DONTWAIT);
    if (n > 0) {
      out += n;
      size -= static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      wait(POLLIN, deadline);
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Channel::send(MessageType type, std::span<const std::string_view> fields, Deadline deadline) {
  Header header{static_cast<uint32_t>(type), static_cast<uint32_t>(fields.size())};
  std::string front(raw(header));
  for (std::string_view field : fields) front += raw(uint64_t{field.size()});
  if (!write(front, deadline)) return false;
  return std::all_of(fields.begin(), fields.end(), [&](std::string_view field) { return write(field, deadline); });
}

bool Channel::has_message() const {
  pollfd entry{fd_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

std::optional<Message> Channel::receive(Deadline deadline) {
  Header header;
  if (!read(reinterpret_cast<char*>(&header), sizeof header, deadline)) return std::nullopt;
  uint64_t sizes[kMaxFields];
  if (header.fields > kMaxFields) throw Error("the worker sent a malformed message");
  if (!read(reinterpret_cast<char*>(sizes), header.fields * sizeof *sizes, deadline)) return std::nullopt;
  uint64_t total = 0;
  Message message{static_cast<MessageType>(header.type), {}};
  for (uint32_t i = 0; i < header.fields; i++) {
    if (sizes[i] > limit_ - total) throw Error("the worker sent a message that is too large");
    total += sizes[i];
    message.fields.emplace_back(sizes[i], '\0');
    if (!read(message.fields.back().data(), sizes[i], deadline)) return std::nullopt;
  }
  return message;
}

}  // namespace mneme::run
