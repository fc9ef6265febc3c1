// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fetching.h"

#include <sys/mman.h>

#include <stdexcept>

#include "base/error.h"
#include "process_memory.h"

namespace mneme::capture {

using record::Fetched;
using record::Message;
using record::Type;

Fetching::~Fetching() {
  if (preparing_.joinable()) preparing_.join();
  if (memory_) ::munmap(memory_, kSlots * kRoom);
}

void Fetching::make_memory() {
  Fd file = zeroed_memory_file("mneme-fetched", kSlots * kRoom);
  void* memory = ::mmap(nullptr, kSlots * kRoom, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw system_error("cannot share memory with the application");
  ::madvise(memory, kSlots * kRoom, MADV_HUGEPAGE);  // quicker to touch, where the system has such
  memory_ = static_cast<std::byte*>(memory);
  unsent_ = std::move(file);
}

void Fetching::prepare() {
  if (memory_) return;
  try {
    make_memory();
    preparing_ = std::thread([this] { ::madvise(memory_, kSlots * kRoom, MADV_POPULATE_WRITE); });
  } catch (const std::runtime_error&) {
    // What could not be done ahead is done when it is needed, by whom it is told of.
  }
}

void Fetching::get_ready() {
  for (size_t slot = 0; slot < kSlots; ++slot) ask(slot, {});
  for (size_t slot = 0; slot < kSlots; ++slot) await(slot);
}

void Fetching::ask(size_t slot, const Load& load) {
  if (!memory_) make_memory();
  Fd memory = std::exchange(unsent_, Fd());
  try {
    record::send_message(socket_, record::Fetch{slot * kRoom, kRoom, kSlots * kRoom, load}, memory.get());
  } catch (const Error&) {
    throw ProcessGone();
  }
}

void Fetching::await(size_t slot) {
  for (;;) {
    std::optional<Message> message = record::receive_message(socket_);
    if (!message) throw ProcessGone();
    if (message->type == Type::kFetched) {
      if (unpack<Fetched>(message->body).at == slot * kRoom) return;
      throw Error("the application's recorder brought memory that mneme-capture had not asked for");
    }
    bool ends = message->type == Type::kStopped;
    heard_.push_back(std::move(*message));
    if (ends) throw ProcessGone();
  }
}

void Fetching::fetch(const Next& next, const Take& take) {
  size_t asked = 0, arrived = 0;
  try {
    for (bool more = true;;) {
      while (more && asked < arrived + kSlots) {
        Load load = next();
        more = !load.empty();
        if (!more) break;
        ask(asked % kSlots, load);
        ++asked;  // not if it threw: nothing comes then
      }
      if (arrived == asked) return;
      const size_t slot = arrived % kSlots;
      await(slot);
      ++arrived;
      take(memory_ + slot * kRoom);
    }
  } catch (const ProcessGone&) {
    throw;
  } catch (...) {
    while (arrived < asked) await(arrived++ % kSlots);  // else it would be taken for an answer to something else
    throw;
  }
}

}  // namespace mneme::capture
