// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/fibers/fiber.h"

namespace mneme::device::host {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

void Fiber::prepare(std::span<std::byte> stack, void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  ended_ = false;
  here_ = make_fcontext(stack.data() + stack.size(), stack.size(), enter);
}

void Fiber::enter(transfer_t from) {
  auto* self = static_cast<Fiber*>(from.data);
  self->resumer_ = from.fctx;
  self->body_(self->argument_);
  self->ended_ = true;
  jump_fcontext(self->resumer_, nullptr);
}

void Fiber::resume() { here_ = jump_fcontext(here_, this).fctx; }

void Fiber::pause() { resumer_ = jump_fcontext(resumer_, nullptr).fctx; }

}  // namespace mneme::device::host
