// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels ask of their surroundings (abi.h: Services), by the names that HIP's headers and its device library
// give it.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "base/error.h"
#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "ir/as_type.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

using ir::as_type;

namespace {

using Arguments = llvm::ArrayRef<llvm::Value*>;
using Replace = llvm::function_ref<llvm::Value*(llvm::IRBuilderBase&, Arguments)>;

// Rewrites each call of a function. HIP's headers declare some of them otherwise than the library defines them, so
// that a call's type need not be the function's.
void replace_calls(llvm::Module& module, llvm::StringRef name, unsigned parameters, Replace raise) {
  llvm::Function* function = module.getFunction(name);
  if (!function || function->arg_size() < parameters) return;
  for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledOperand() != function || call->arg_size() < parameters) continue;
    llvm::IRBuilder<> builder(call);
    llvm::SmallVector<llvm::Value*, 12> arguments(call->args());
    llvm::Value* answer = raise(builder, arguments);
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(as_type(builder, answer, call->getType()));
    call->eraseFromParent();
  }
}

void raise_printing(llvm::Module& module) {
  auto begin = [&](const char* name, uint32_t stream) {
    replace_calls(module, name, 0, [&](llvm::IRBuilderBase& builder, Arguments) {
      return call_service(builder, "print_begin", builder.getInt64Ty(), {builder.getInt32(stream)});
    });
  };
  begin("__ockl_printf_begin", 1);
  begin("__ockl_fprintf_stdout_begin", 1);
  begin("__ockl_fprintf_stderr_begin", 2);
  for (const char* name : {"__ockl_printf_append_string_n", "__ockl_fprintf_append_string_n"}) {
    replace_calls(module, name, 4, [](llvm::IRBuilderBase& builder, Arguments in) {
      llvm::Value* bytes = as_type(builder, in[1], builder.getPtrTy());
      return call_service(builder, "print_string", builder.getInt64Ty(), {in[0], bytes, in[2], in[3]});
    });
  }
  for (const char* name : {"__ockl_printf_append_args", "__ockl_fprintf_append_args"}) {
    replace_calls(module, name, 10, [](llvm::IRBuilderBase& builder, Arguments in) {
      return call_service(builder, "print_words", builder.getInt64Ty(), in);
    });
  }
}

void raise_heap(llvm::Module& module) {
  replace_calls(module, "__ockl_dm_alloc", 1, [](llvm::IRBuilderBase& builder, Arguments in) {
    return call_service(builder, "allocate", builder.getPtrTy(), {as_type(builder, in[0], builder.getInt64Ty())});
  });
  replace_calls(module, "__ockl_dm_dealloc", 1, [](llvm::IRBuilderBase& builder, Arguments in) {
    return call_service(builder, "release", builder.getVoidTy(), {as_type(builder, in[0], builder.getPtrTy())});
  });
}

void raise_ends(llvm::Module& module) {
  // (assertion, file, line, function) begin the parameters of both.
  for (const char* name : {"__assert_fail", "__assertfail"}) {
    replace_calls(module, name, 4, [](llvm::IRBuilderBase& builder, Arguments in) {
      auto text = [&](unsigned i) { return as_type(builder, in[i], builder.getPtrTy()); };
      llvm::Value* line = as_type(builder, in[2], builder.getInt32Ty());
      return call_service(builder, "fail_assertion", builder.getVoidTy(), {text(0), text(1), line, text(3)});
    });
  }
  for (const char* name : {"_Z5abortv", "abort"}) {
    replace_calls(module, name, 0,
                  [](llvm::IRBuilderBase& builder, Arguments) { return call_stop(builder, kAborted); });
  }
}

// The message by which the constant clock is asked for from generation 11 on.
constexpr uint64_t kGetRealTime = 0x83;

bool asks_for_time(const llvm::IntrinsicInst& call) {
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue() == kGetRealTime &&
         call.getType()->isIntegerTy(64);
}

void raise_intrinsic_services(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call) continue;
      llvm::IRBuilder<> builder(call);
      switch (call->getIntrinsicID()) {
        case llvm::Intrinsic::trap:
        case llvm::Intrinsic::ubsantrap:
        case llvm::Intrinsic::debugtrap:
          call_stop(builder, kTrapped);
          break;
        case llvm::Intrinsic::amdgcn_s_sendmsg_rtn:
          if (!asks_for_time(*call)) continue;  // which is refused with what else is not here
          [[fallthrough]];
        case llvm::Intrinsic::amdgcn_s_memrealtime:
        case llvm::Intrinsic::readsteadycounter:
          call->replaceAllUsesWith(call_service(builder, "wall_clock", builder.getInt64Ty(), {}));
          break;
        default:
          continue;
      }
      call->eraseFromParent();
    }
  }
}

}  // namespace

void raise_services(llvm::Module& module) {
  raise_printing(module);
  raise_heap(module);
  raise_ends(module);
  raise_intrinsic_services(module);
}

void refuse_host_calls(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (const char* name : {"__ockl_hostcall_preview", "__ockl_hostcall_internal"}) {
    if (!module.getFunction(name)) continue;
    throw Error::of("kernel '{}' calls functions of the host, which the host device does not have", kernel.demangled);
  }
}

}  // namespace mneme::codegen::host
