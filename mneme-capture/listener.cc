// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "listener.h"

#include <sys/socket.h>

#include <random>

#include "base/error.h"
#include "recorder/link/meeting_point.h"

namespace mneme::capture {
namespace {

Fd listen_at(const record::SocketAddress& address) {
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener || ::bind(listener.get(), address.get(), address.size()) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    return Fd();
  }
  return listener;
}

uint64_t random_number() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Listener::Listener() {
  record::MeetingPoint point = record::MeetingPoint::make(random_number());
  abstract_ = listen_at(*record::abstract_address(point.name));
  if (!abstract_) throw system_error("cannot listen for the application");
  try {
    folder_.emplace("mneme-capture");
    point.path = folder_->path() + "/socket";
    if (auto address = record::file_address(point.path)) named_ = listen_at(*address);
  } catch (const Error&) {  // $TMPDIR cannot be written to: outside containers the first one does
  }
  if (!named_) {
    point.path.clear();
    folder_.reset();
  }
  address_ = point.text();
}

void Listener::close() {
  abstract_ = Fd();
  named_ = Fd();
  folder_.reset();
}

}  // namespace mneme::capture
