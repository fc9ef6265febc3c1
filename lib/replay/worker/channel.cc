// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/channel.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace mneme::run {

bool Channel::has_message(Deadline deadline) const {
  if (reader_.has_some()) return true;
  for (;;) {
    const auto left = deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count() : 0;
    pollfd entry{fd_.get(), POLLIN, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw system_error("cannot wait for the worker");
  }
}

std::optional<Message> Channel::receive(Deadline deadline) {
  std::optional<Frame> frame = reader_.receive(fd_.get(), deadline);
  if (!frame) return std::nullopt;
  return Message{static_cast<MessageType>(frame->type), std::move(frame->fields)};
}

}  // namespace mneme::run
