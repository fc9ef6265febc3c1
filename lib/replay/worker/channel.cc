// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/worker/channel.h"

#include <poll.h>

namespace mneme::run {

bool Channel::has_message() const {
  if (reader_.has_some()) return true;
  pollfd entry{fd_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

std::optional<Message> Channel::receive(Deadline deadline) {
  std::optional<Frame> frame = reader_.receive(fd_.get(), deadline);
  if (!frame) return std::nullopt;
  return Message{static_cast<MessageType>(frame->type), std::move(frame->fields)};
}

}  // namespace mneme::run
