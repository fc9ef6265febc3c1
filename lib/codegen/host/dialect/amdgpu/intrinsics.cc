// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's intrinsics, one by one, as they are met in what the device library leaves: here those that ask about the
// launch or steer the wave; waves.cc and the others have the rest.
#include "codegen/host/dialect/amdgpu/intrinsics.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/neutral/context.h"
#include "codegen/host/neutral/memory_spaces.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* in_address_space(Builder& builder, Value* pointer, llvm::Type* type) {
  return pointer->getType() == type ? pointer : builder.CreateAddrSpaceCast(pointer, type);
}

// The hardware's registers that a program may want: where it runs, and how it rounds. `place`: the register's number,
// then the first bit and, less one, the number of bits to give of it.
Raised hardware_register(Builder& builder, uint64_t place) {
  uint64_t number = place & 63, offset = (place >> 6) & 31, size = ((place >> 11) & 31) + 1;
  Value* whole = nullptr;
  switch (number) {
    case 1:  // MODE: nearest, denormal numbers kept, IEEE
      whole = builder.getInt32(0x3f0);
      break;
    case 4:   // HW_ID, to gfx9
    case 23:  // HW_ID1, from gfx10: a compute unit (bits 8 to 11) that depends on the block alone
      whole = builder.CreateShl(builder.CreateAnd(call_query(builder, Query::kGroupId, 0), 15), 8);
      break;
    case 20:  // XCC_ID
      whole = builder.getInt32(0);
      break;
    case 29:  // SHADER_CYCLES
      whole =
          builder.CreateTrunc(builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {}), builder.getInt32Ty());
      break;
    default:
      return std::nullopt;
  }
  return builder.CreateAnd(builder.CreateLShr(whole, offset), UINT32_MAX >> (32 - size));
}

}  // namespace

Raised raise_launch_intrinsic(Builder& builder, llvm::CallInst& call, const bundle::KernelInfo& kernel) {
  auto query = [&](Query what, unsigned dimension) { return call_query(builder, what, dimension); };
  llvm::Type* type = call.getType();
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_workitem_id_x:
      return query(Query::kLocalId, 0);
    case llvm::Intrinsic::amdgcn_workitem_id_y:
      return query(Query::kLocalId, 1);
    case llvm::Intrinsic::amdgcn_workitem_id_z:
      return query(Query::kLocalId, 2);
    case llvm::Intrinsic::amdgcn_workgroup_id_x:
      return query(Query::kGroupId, 0);
    case llvm::Intrinsic::amdgcn_workgroup_id_y:
      return query(Query::kGroupId, 1);
    case llvm::Intrinsic::amdgcn_workgroup_id_z:
      return query(Query::kGroupId, 2);
    case llvm::Intrinsic::amdgcn_implicitarg_ptr:
      return in_address_space(builder, call_implicit(builder), type);
    case llvm::Intrinsic::amdgcn_dispatch_ptr:
      return in_address_space(builder, call_dispatch(builder), type);
    case llvm::Intrinsic::amdgcn_kernarg_segment_ptr:
      return in_address_space(
          builder, Context(*call.getModule()).load(builder, call_context(builder), Context::kArguments), type);
    case llvm::Intrinsic::amdgcn_dispatch_id:
      return llvm::ConstantInt::get(type, 0);
    case llvm::Intrinsic::amdgcn_wavefrontsize:
      return builder.getInt32(kernel.wave_size);
    case llvm::Intrinsic::amdgcn_wave_id:
    case llvm::Intrinsic::amdgcn_s_get_waveid_in_workgroup:
      return builder.CreateUDiv(thread_index(builder), builder.getInt32(kernel.wave_size));
    case llvm::Intrinsic::amdgcn_groupstaticsize:  // where dynamic shared memory begins
      return builder.CreateSub(shared_size(builder), shared_dynamic_size(builder));
    case llvm::Intrinsic::amdgcn_is_shared:
      return is_shared(builder, call.getArgOperand(0));
    case llvm::Intrinsic::amdgcn_is_private:
      return is_private(builder, call.getArgOperand(0));
    case llvm::Intrinsic::amdgcn_addrspacecast_nonnull:
      return in_address_space(builder, call.getArgOperand(0), type);
    case llvm::Intrinsic::amdgcn_s_getreg:
      return hardware_register(builder, llvm::cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue());
    case llvm::Intrinsic::amdgcn_s_memtime:
      return builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});

    case llvm::Intrinsic::amdgcn_s_barrier:
      call_barrier(builder);
      return nullptr;
    case llvm::Intrinsic::amdgcn_endpgm:
      call_end(builder);
      return nullptr;
    // Hints, waits for what is here done at once, and signals to hardware that is not here.
    case llvm::Intrinsic::amdgcn_s_sleep:
    case llvm::Intrinsic::amdgcn_s_sleep_var:
    case llvm::Intrinsic::amdgcn_s_nop:
    case llvm::Intrinsic::amdgcn_s_setprio:
    case llvm::Intrinsic::amdgcn_s_waitcnt:
    case llvm::Intrinsic::amdgcn_s_dcache_inv:
    case llvm::Intrinsic::amdgcn_s_dcache_inv_vol:
    case llvm::Intrinsic::amdgcn_s_dcache_wb:
    case llvm::Intrinsic::amdgcn_s_dcache_wb_vol:
    case llvm::Intrinsic::amdgcn_s_incperflevel:
    case llvm::Intrinsic::amdgcn_s_decperflevel:
    case llvm::Intrinsic::amdgcn_s_ttracedata:
    case llvm::Intrinsic::amdgcn_s_ttracedata_imm:
    case llvm::Intrinsic::amdgcn_s_sendmsg:
    case llvm::Intrinsic::amdgcn_sched_barrier:
    case llvm::Intrinsic::amdgcn_sched_group_barrier:
    case llvm::Intrinsic::amdgcn_iglp_opt:
    case llvm::Intrinsic::amdgcn_ds_gws_init:
      return nullptr;
    default:
      return std::nullopt;
  }
}

bool raise_intrinsic(llvm::CallInst& call, const bundle::KernelInfo& kernel) {
  llvm::IRBuilder<> builder(&call);
  if (call.getType()->isFPOrFPVectorTy()) {
    if (auto* math = llvm::dyn_cast<llvm::FPMathOperator>(&call)) builder.setFastMathFlags(math->getFastMathFlags());
  }
  Raised value = raise_launch_intrinsic(builder, call, kernel);
  if (!value) value = raise_wave_intrinsic(builder, call, kernel.wave_size);
  if (!value) value = raise_atomic_intrinsic(builder, call, kernel.wave_size);
  if (!value) value = raise_integer_intrinsic(builder, call);
  if (!value) value = raise_float_intrinsic(builder, call);
  if (!value) value = raise_matrix_intrinsic(builder, call, kernel.wave_size);
  if (!value) return false;
  if (*value) call.replaceAllUsesWith(*value);
  call.eraseFromParent();
  return true;
}

}  // namespace mneme::codegen::host
