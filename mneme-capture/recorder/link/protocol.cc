// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/link/protocol.h"

#include "base/error.h"
#include "base/frames.h"

namespace mneme::record {
namespace {

constexpr char kOtherSide[] = "the other end of the connection between the application and mneme-capture";

void send_pieces(int socket, Type type, std::span<const std::string_view> pieces, int descriptor) {
  if (!send_frame(socket, static_cast<uint32_t>(type), pieces, {.as_one = true, .descriptor = descriptor})) {
    throw system_error(std::string("cannot write to ") + kOtherSide);
  }
}

}  // namespace

void send_message(int socket, Type type, std::string_view body, int descriptor) {
  send_pieces(socket, type, std::span(&body, 1), descriptor);
}

void send_message(int socket, const Digests& digests, int) {
  const uint64_t before[] = {digests.address, digests.blocks.size()};
  const std::string_view pieces[] = {text_of(std::as_bytes(std::span(before))),
                                     text_of(std::as_bytes(std::span(digests.blocks)))};
  send_pieces(socket, Type::kDigests, pieces, -1);
}

std::optional<Message> receive_message(int socket) {
  FrameReader reader({.peer = kOtherSide, .limit = kMaxMessage, .takes_descriptors = true});
  std::optional<Frame> frame = reader.receive(socket);
  if (!frame) return std::nullopt;
  Message message{static_cast<Type>(frame->type), {}, reader.take_descriptor()};
  if (!frame->fields.empty()) message.body = std::move(frame->fields[0]);
  return message;
}

}  // namespace mneme::record
