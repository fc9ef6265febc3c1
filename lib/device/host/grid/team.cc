// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/grid/team.h"

#include <new>
#include <system_error>

namespace mneme::device::host {

Team::Team(uint64_t most) {
  try {
    for (uint64_t number = 1; number < most; ++number) {
      others_.emplace_back([this, number] {
        begun_.wait(false);
        if (work_) (*work_)(number);
      });
    }
  } catch (const std::system_error&) {
    // No more are to be had: those do it that are there.
  } catch (const std::bad_alloc&) {
  }
}

Team::~Team() {
  if (!begun_) begin(nullptr);
  end();
}

void Team::begin(const std::function<void(uint64_t)>* work) {
  work_ = work;
  begun_ = true;
  begun_.notify_all();
}

void Team::end() {
  for (memory::OwnThread& thread : others_) {
    if (thread.joinable()) thread.join();
  }
}

void Team::run(const std::function<void(uint64_t)>& work) {
  begin(&work);
  work(0);
  end();
}

}  // namespace mneme::device::host
