// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMD's inline assembly, run on the host.
#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

#include <gtest/gtest.h>

#include <set>

#include "codegen/host/dialect/amdgpu/gcn/cases.h"
#include "codegen/host/dialect/amdgpu/run.h"

namespace mneme::codegen::host {
namespace {

std::string quoted(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '\n' ? "\\0A" : c == '\t' ? "\\09" : std::string(1, c);
  return result;
}

// Each case's result, by one thread.
std::vector<uint64_t> run_cases(const std::vector<GcnCase>& cases, const std::string& passes) {
  std::string body;
  std::vector<uint64_t> in;
  for (size_t i = 0; i < cases.size(); ++i) {
    const GcnCase& one = cases[i];
    std::string n = std::to_string(i), call;
    for (size_t j = 0; j < one.operands.size(); ++j) {
      const GcnValue& operand = one.operands[j];
      bool constant = one.constraints.find(",n") != std::string::npos;
      std::string value = "%v" + n + "." + std::to_string(j);
      if (!constant) {
        body += "  " + value + ".p = getelementptr i64, ptr addrspace(1) %in, i64 " + std::to_string(in.size()) +
                "\n  " + value + " = load " + operand.type + ", ptr addrspace(1) " + value + ".p\n";
      }
      in.push_back(operand.bits);
      call += (j ? ", " : "") + operand.type + " " + (constant ? std::to_string(operand.bits) : value);
    }
    body += "  %r" + n + " = call " + one.result + " asm \"" + quoted(one.text) + "\", \"" + one.constraints + "\"(" +
            call + ")\n  %p" + n + " = getelementptr i64, ptr addrspace(1) %out, i64 " + n + "\n  store " + one.result +
            " %r" + n + ", ptr addrspace(1) %p" + n + "\n";
  }
  std::string text = kAmdgpuHead;
  text += "define amdgpu_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n" + body + "  ret void\n}\n";
  bundle::KernelInfo kernel = kernel_of_pointers(2);
  kernel.wave_size = 64;
  AmdgpuCode code(compile(kernel, text, configuration(passes, "loop")));
  std::vector<uint64_t> out(cases.size());
  code.run({in.data(), out.data()}, 1);
  return out;
}

class GcnLevels : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, GcnLevels, testing::Values("default<O0>", "default<O3>"));

TEST_P(GcnLevels, GiveWhatTheManualsSay) {
  constexpr size_t kAtOnce = 25;
  std::vector<GcnCase> all = gcn_cases();
  for (size_t first = 0; first < all.size(); first += kAtOnce) {
    std::vector<GcnCase> cases(all.begin() + static_cast<ptrdiff_t>(first),
                               all.begin() + static_cast<ptrdiff_t>(std::min(first + kAtOnce, all.size())));
    std::vector<uint64_t> out = run_cases(cases, GetParam());
    for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(out[i], cases[i].expected) << cases[i].text;
  }
}

// Each row of the table has a case, for one of its types at least.
TEST(GcnTable, EachRowIsTried) {
  std::set<std::string> tried;
  for (const GcnCase& one : gcn_cases()) {
    auto statements = parse_gcn(one.text);
    ASSERT_TRUE(statements) << one.text;
    for (const GcnStatement& statement : *statements) {
      tried.insert(statement.name + " " + std::to_string(statement.operands.size()));
    }
  }
  for (auto rows : {gcn_float_rows(), gcn_conversion_rows(), gcn_integer_rows(), gcn_comparison_rows(),
                    gcn_packed_rows(), gcn_scalar_rows()}) {
    for (const GcnRow& row : rows) {
      llvm::SmallVector<llvm::StringRef, 6> types;
      llvm::StringRef(row.types).split(types, ' ');
      llvm::StringRef signature = row.signature;
      size_t codes = signature.count(" c");
      size_t operands = signature.count(' ') + 1 - codes - (signature.starts_with("c:") ? 1 : 0);
      bool found = llvm::any_of(types, [&](llvm::StringRef type) {
        auto [before, behind] = llvm::StringRef(row.name).split('@');
        return tried.contains((before + type + behind).str() + " " + std::to_string(operands));
      });
      EXPECT_TRUE(found) << row.name << " (" << row.signature << ")";
    }
  }
}

// 64 lanes: each stores what `text` gives of its number. Those from `here` on do not come to it.
struct Lanes {
  std::vector<uint32_t> out;
  uint32_t fault;
};
Lanes run_lanes(const std::string& text, const std::string& constraints, const std::string& passes,
                uint32_t here = 64) {
  std::string ir = kAmdgpuHead;
  ir +=
      "define amdgpu_kernel void @k(ptr addrspace(1) %out) {\n  %t = call i32 @llvm.amdgcn.workitem.id.x()\n"
      "  %old = add i32 %t, 1000\n  %here = icmp ult i32 %t, " +
      std::to_string(here) + "\n  br i1 %here, label %some, label %all\nsome:\n  %r = call i32 asm \"" + quoted(text) +
      "\", \"" + constraints +
      "\"(i32 %t, i32 %old)\n  br label %all\nall:\n  %w = phi i32 [ %r, %some ], [ 0, %0 ]\n"
      "  %x = zext i32 %t to i64\n  %p = getelementptr i32, ptr addrspace(1) %out, i64 %x\n"
      "  store i32 %w, ptr addrspace(1) %p\n  ret void\n}\n";
  bundle::KernelInfo kernel = kernel_of_pointers(1);
  kernel.wave_size = 64;
  AmdgpuCode code(compile(kernel, ir, configuration(passes, "loop")));
  Lanes lanes{std::vector<uint32_t>(64), 0};
  lanes.fault = code.run({lanes.out.data()}, 64).fault;
  return lanes;
}

template <typename Expected>
void expect_lanes(const std::string& text, Expected expected, const std::string& constraints = "=v,v,0",
                  const std::string& passes = "default<O3>") {
  Lanes lanes = run_lanes(text, constraints, passes);
  EXPECT_EQ(lanes.fault, 0u);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(lanes.out[t], expected(t)) << text << ", lane " << t;
}

TEST(GcnLanes, ValuesOfOtherLanes) {
  expect_lanes("v_mov_b32_dpp $0, $1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", [](uint32_t t) { return t ^ 1; });
  expect_lanes("v_add_u32_dpp $0, $1, $1 row_ror:4", [](uint32_t t) { return (t & ~15u) + ((t - 4) & 15) + t; });
  // Where no lane gives a value, the register stays, or there is a zero.
  expect_lanes("s_nop 1\nv_add_u32_dpp $0, $1, $1 row_shr:1 row_mask:0xf bank_mask:0xf",
               [](uint32_t t) { return t & 15 ? t + t - 1 : t + 1000; });
  expect_lanes("v_add_u32_dpp $0, $1, $1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0",
               [](uint32_t t) { return t & 15 ? t + t - 1 : t; });
  expect_lanes("v_add_u32_dpp $0, $1, $1 row_half_mirror row_mask:0x5 bank_mask:0xf",
               [](uint32_t t) { return t >> 4 & 1 ? t + 1000 : t + (t ^ 7); });
  expect_lanes("v_mov_b32_dpp $0, $1 row_bcast:15 row_mask:0xa bank_mask:0xf",
               [](uint32_t t) { return t >> 4 & 1 ? (t & ~15u) - 1 : t + 1000; });
  expect_lanes("v_mov_b32_dpp $0, $1 dpp8:[7,6,5,4,3,2,1,0]", [](uint32_t t) { return t ^ 7; });
  expect_lanes("ds_swizzle_b32 $0, $1 offset:0x041f\ns_waitcnt lgkmcnt(0)", [](uint32_t t) { return t ^ 1; });
  auto swizzle = [](const std::string& how) { return "ds_swizzle_b32 $0, $1 offset:swizzle(" + how + ")"; };
  expect_lanes(swizzle("SWAP,4"), [](uint32_t t) { return t ^ 4; });
  expect_lanes(swizzle("REVERSE, 8"), [](uint32_t t) { return t ^ 7; });
  expect_lanes(swizzle("BROADCAST,8,3"), [](uint32_t t) { return (t & ~7u) + 3; });
  expect_lanes(swizzle("QUAD_PERM, 3, 0, 1, 1"), [](uint32_t t) { return (t & ~3u) + (0x1103 >> t % 4 * 4 & 3); });
  expect_lanes(swizzle("BITMASK_PERM, \\2201pip\\22"), [](uint32_t t) { return (t & 32) + 8 + (t & 5) + (~t & 2); });
  expect_lanes("v_lshlrev_b32 v3, 2, $1\nv_xor_b32 v3, 12, v3\nds_bpermute_b32 $0, v3, $1",
               [](uint32_t t) { return t ^ 3; });
  expect_lanes("v_lshlrev_b32 v3, 2, $1\nv_xor_b32 v3, 12, v3\nds_permute_b32 $0, v3, $1",
               [](uint32_t t) { return t ^ 3; });
  expect_lanes("s_mov_b32 s0, 0x76543210\ns_mov_b32 s1, 0xfedcba98\nv_permlanex16_b32 $0, $1, s0, s1",
               [](uint32_t t) { return t ^ 16; });
}

TEST(GcnLanes, MasksOfLanes) {
  expect_lanes("v_cmp_gt_u32 vcc, 5, $1\ns_bcnt1_i32_b64 $0, vcc", [](uint32_t) { return 5u; });
  expect_lanes("v_cmp_gt_u32 s[4:5], 5, $1\nv_cndmask_b32 $0, 3, 4, s[4:5]",
               [](uint32_t t) { return t < 5 ? 4u : 3u; });
  expect_lanes("v_mbcnt_lo_u32_b32 $0, -1, 0\n\tv_mbcnt_hi_u32_b32 $0, -1, $0", [](uint32_t t) { return t; });
  expect_lanes("v_readlane_b32 $0, $1, 9", [](uint32_t) { return 9u; }, "=s,v,0");
  expect_lanes("v_writelane_b32 $0, 77, 9", [](uint32_t t) { return t == 9 ? 77 : t + 1000; });
}

// Statements that jump, or switch lanes off.
class GcnControl : public EveryLevel {
 protected:
  template <typename Expected>
  static void expect(const std::string& text, Expected expected) {
    expect_lanes(text, expected, "=v,v,0", GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Levels, GcnControl, testing::Values("default<O0>", "default<O3>"));

TEST_P(GcnControl, LanesThatAreOff) {
  // Vector instructions leave their registers, and bits of masks are zero.
  expect("v_cmp_gt_u32 vcc, 5, $1\ns_and_saveexec_b64 s[4:5], vcc\nv_mov_b32 $0, 7\ns_mov_b64 exec, s[4:5]",
         [](uint32_t t) { return t < 5 ? 7 : t + 1000; });
  expect_lanes(
      "s_mov_b64 s[4:5], exec\ns_mov_b64 exec, 0xf0\nv_cmp_lt_u32 vcc, 5, $1\ns_mov_b64 exec, s[4:5]\n"
      "s_bcnt1_i32_b64 s0, vcc\nv_add_u32 $0, $1, s0",
      [](uint32_t t) { return t + 2; });
  expect_lanes(
      "s_mov_b64 s[4:5], exec\ns_mov_b32 exec_hi, 0\nv_add_u32 $0, 1, $0\ns_mov_b32 exec_lo, 0\n"
      "s_mov_b32 exec_hi, 1\nv_mov_b32 $0, exec_hi\ns_or_b64 exec, exec, s[4:5]",
      [](uint32_t t) { return t < 32    ? t + 1001
                              : t == 32 ? 1
                                        : t + 1000; });
  expect("v_cmpx_gt_u32 exec, 5, $1\nv_mov_b32 $0, exec_lo\ns_mov_b64 exec, -1",
         [](uint32_t t) { return t < 5 ? 31 : t + 1000; });
  expect("v_cmpx_gt_u32 vcc, 5, $1\nv_mov_b32 $0, vcc_lo\ns_mov_b64 exec -1",
         [](uint32_t t) { return t < 5 ? 31 : t + 1000; });
  expect("v_cmpx_lt_u32 5, $1\nv_readfirstlane_b32 s0, $1\ns_mov_b64 exec, -1\nv_mov_b32 $0, s0",
         [](uint32_t) { return 6u; });
  // The other lanes, by the second half of a branch.
  expect_lanes(
      "v_cmp_gt_u32 vcc, 5, $1\ns_and_saveexec_b64 s[4:5], vcc\nv_mov_b32 $0, 7\ns_xor_b64 exec, exec, s[4:5]\n"
      "v_mov_b32 $0, 8\ns_mov_b64 exec, s[4:5]",
      [](uint32_t t) { return t < 5 ? 7u : 8u; });
  // Each operation of 0b0110 and exec, 0b1100.
  constexpr uint64_t kGiven = 6, kExec = 12;
  const std::pair<const char*, uint64_t> kOperations[] = {
      {"and", kGiven & kExec},      {"or", kGiven | kExec},        {"xor", kGiven ^ kExec},
      {"nand", ~(kGiven & kExec)},  {"nor", ~(kGiven | kExec)},    {"xnor", ~(kGiven ^ kExec)},
      {"andn1", ~kGiven & kExec},   {"andn2", kGiven & ~kExec},    {"orn1", ~kGiven | kExec},
      {"orn2", kGiven | ~kExec},    {"and_not0", ~kGiven & kExec}, {"and_not1", kGiven & ~kExec},
      {"or_not0", ~kGiven | kExec}, {"or_not1", kGiven | ~kExec}};
  for (const auto& [name, left] : kOperations) {
    expect("s_mov_b64 s[4:5], exec\ns_mov_b64 exec, 12\ns_" + std::string(name) +
               "_saveexec_b64 s[6:7], 6\nv_add_u32 $0, s6, exec_lo\ns_mov_b64 exec, s[4:5]",
           [left = left](uint32_t t) { return left >> t & 1 ? static_cast<uint32_t>(left + kExec) : t + 1000; });
  }
  expect("s_mov_b64 s[4:5], exec\ns_andn2_wrexec_b64 s[6:7], 6\ns_mov_b64 exec, s[4:5]\nv_mov_b32 $0, s6",
         [](uint32_t) { return 0u; });
}

TEST_P(GcnControl, Jumps) {
  // A loop of the scalar unit.
  expect_lanes(
      "s_mov_b32 s0, 0\nv_mov_b32 $0, $1\nL_${:uid}:\n  v_add_u32 $0, $0, 3\n  s_add_u32 s0, s0, 1\n"
      "  s_cmp_lt_u32 s0, 5\n  s_cbranch_scc1 L_${:uid}",
      [](uint32_t t) { return t + 15; });
  // Each lane as often as its number says.
  expect_lanes(
      "s_mov_b64 s[4:5], exec\nv_mov_b32 v3, 0\nv_mov_b32 $0, 0\n"
      "1: v_cmp_lt_u32 vcc, v3, $1\ns_and_b64 exec, exec, vcc\ns_cbranch_execz 2f\n"
      "v_add_u32 v3, v3, 1\nv_add_u32 $0, $0, v3\ns_branch 1b\n2: s_mov_b64 exec, s[4:5]",
      [](uint32_t t) { return t * (t + 1) / 2; });
  expect("v_cmp_lt_u32 vcc, 100, $1\nv_mov_b32 $0, 1\ns_cbranch_vccz .Lnone\nv_mov_b32 $0, 2\n.Lnone:",
         [](uint32_t) { return 1u; });
  expect("v_cmp_lt_u32 vcc, 60, $1\nv_mov_b32 $0, 1\ns_cbranch_vccnz over\nv_mov_b32 $0, 2\nover:",
         [](uint32_t) { return 1u; });
  expect_lanes(
      "v_mov_b32 $0, 1\ns_cbranch_execnz over\nv_mov_b32 $0, 2\nover:\ns_cmp_eq_u32 0, 1\n"
      "s_cbranch_scc0 end\nv_mov_b32 $0, 3\nend:",
      [](uint32_t) { return 1u; });
}

TEST_P(GcnControl, LanesThatAreElsewhere) {
  const char* text =
      "s_mov_b64 s[4:5], exec\nv_mov_b32 v3, 0\n1: v_add_u32 v3, v3, 2\nv_cmp_lt_u32 vcc, v3, $1\n"
      "s_and_b64 exec, exec, vcc\ns_cbranch_execnz 1b\ns_mov_b64 exec, s[4:5]\ns_bcnt1_i32_b64 s0, exec\n"
      "v_lshl_or_b32 $0, v3, 8, s0";
  Lanes lanes = run_lanes(text, "=v,v,0", GetParam(), 40);
  EXPECT_EQ(lanes.fault, 0u);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(lanes.out[t], t < 40 ? (t < 2 ? 2 : (t + 1) / 2 * 2) << 8 | 40 : 0) << t;
}

TEST_P(GcnControl, LanesThatStayOffStopTheKernel) {
  EXPECT_EQ(run_lanes("s_mov_b64 exec, 1\nv_mov_b32 $0, 5", "=v,v,0", GetParam()).fault, uint32_t{kOther});
}

// Memory: `text` gets shared memory's beginning, the thread's own place in `out`, its number and a descriptor of the
// first half of `out`.
std::vector<uint32_t> run_memory(const std::string& text, const std::string& constraints, const std::string& result,
                                 const std::string& operands, uint32_t threads = 4) {
  std::string ir = kAmdgpuHead;
  ir +=
      "@tile = internal addrspace(3) global [256 x i32] undef, align 16\n"
      "define amdgpu_kernel void @k(ptr addrspace(1) %out) {\n  %t = call i32 @llvm.amdgcn.workitem.id.x()\n"
      "  %x = zext i32 %t to i64\n  %mine = getelementptr i32, ptr addrspace(1) %out, i64 %x\n"
      "  %far = mul i32 %t, 16\n"
      "  %address = ptrtoint ptr addrspace(1) %out to i64\n  %low = trunc i64 %address to i32\n"
      "  %above = lshr i64 %address, 32\n  %high = trunc i64 %above to i32\n"
      "  %d0 = insertelement <4 x i32> <i32 0, i32 0, i32 64, i32 159744>, i32 %low, i32 0\n"
      "  %d = insertelement <4 x i32> %d0, i32 %high, i32 1\n"
      "  %tile = ptrtoint ptr addrspace(3) @tile to i32\n  %slot = add i32 %tile, %far\n  %r = call " +
      result + " asm sideeffect \"" + quoted(text) + "\", \"" + constraints + "\"(" + operands + ")\n  store " +
      result + " %r, ptr addrspace(1) %mine\n  ret void\n}\n";
  if (result == "void")
    ir.replace(ir.find("%r = call"), 9, "call"),
        ir.erase(ir.find("  store void"), ir.find("  ret") - ir.find("  store void"));
  bundle::KernelInfo kernel = kernel_of_pointers(1);
  kernel.wave_size = 64;
  AmdgpuCode code(compile(kernel, ir, configuration()));
  std::vector<uint32_t> out(64);
  for (uint32_t i = 0; i < 64; ++i) out[i] = i + 100;
  code.run({out.data()}, threads);
  return out;
}

TEST(GcnMemory, Shared) {
  for (const char* text :
       {"ds_write_b32 $1, $2\ns_waitcnt lgkmcnt(0)\nds_read_b32 $0, $1",
        "ds_store_b32 $1, $2 offset:64\nds_load_b32 $0, $1 offset:64",
        "ds_write2_b32 $1, $2, $2 offset0:1 offset1:3\nds_read_b32 $0, $1 offset:12",
        "v_mov_b32 v4, 5\nds_write_b32 $1, v4\nds_add_u32 $1, $2\nds_sub_rtn_u32 $0, $1, v4\n"
        "ds_read_b32 $0, $1",
        "v_mov_b32 v4, 5\nds_write_b32 $1, v4\nds_cmpst_rtn_b32 v5, $1, v4, $2\nds_read_b32 $0, $1",
        "v_mov_b32 v4, 5\nds_write_b32 $1, v4\nds_cmpstore_rtn_b32 v5, $1, $2, v4\nds_read_b32 $0, $1",
        "ds_write_b32 $1, $2\nds_wrxchg_rtn_b32 $0, $1, $1", "ds_write_b16 $1, $2\nds_read_u16 $0, $1",
        "ds_write_b8 $1, $2\nds_read_i8 $0, $1"}) {
    std::vector<uint32_t> out = run_memory(text, "=&v,v,v", "i32", "i32 %slot, i32 %t");
    EXPECT_EQ((std::vector<uint32_t>(out.begin(), out.begin() + 5)), (std::vector<uint32_t>{0, 1, 2, 3, 104})) << text;
  }
  std::vector<uint32_t> wide = run_memory(
      "v_mov_b32 v0, 1\nv_mov_b32 v1, 2\nv_mov_b32 v2, 3\nv_mov_b32 v3, $2\nds_write_b128 $1, v[0:3] offset:16\n"
      "ds_read2_b64 v[4:7], $1 offset0:2 offset1:3\nv_mov_b32 $0, v7",
      "=&v,v,v", "i32", "i32 %slot, i32 %t", 1);
  EXPECT_EQ(wide[0], 0u);
}

TEST(GcnMemory, Global) {
  using Words = std::vector<uint32_t>;
  auto first = [](const Words& out) { return Words(out.begin(), out.begin() + 6); };
  EXPECT_EQ(first(run_memory("global_load_dword $0, $1, off offset:4 glc\ns_waitcnt vmcnt(0)", "=v,v", "i32",
                             "ptr addrspace(1) %mine", 1)),
            (Words{101, 101, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("FLAT_LOAD_B32 $0, $1;", "=v,v", "i32", "ptr addrspace(1) %mine")),
            (Words{100, 101, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("global_load_dword $0, $1, $2", "=v,v,s", "i32", "i32 8, ptr addrspace(1) %out", 1)),
            (Words{102, 101, 102, 103, 104, 105}));
  EXPECT_EQ(
      first(run_memory("global_load_sbyte $0, $1, off offset:-4", "=v,v", "i32", "ptr addrspace(1) %mine", 2)[1] == 100
                ? Words(6)
                : Words(7)),
      Words(6));
  EXPECT_EQ(first(run_memory("s_load_dwordx2 s[4:5], $1, 8\ns_waitcnt lgkmcnt(0)\ns_add_u32 $0, s4, s5", "=s,s", "i32",
                             "ptr addrspace(1) %out", 1)),
            (Words{205, 101, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("v_mov_b32 v3, $1\nv_mov_b32 v4, 7\nglobal_store_dwordx2 $0, v[3:4], off", "v,v", "void",
                             "ptr addrspace(1) %mine, i32 %t", 1)),
            (Words{0, 7, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("global_atomic_add $0, $1, off\nflat_atomic_umax $0, $2", "v,v,v", "void",
                             "ptr addrspace(1) %out, i32 1, i32 3")),
            (Words{104, 101, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("global_atomic_swap_b32 $0, $1, $2, off glc", "=v,v,v", "i32",
                             "ptr addrspace(1) %out, i32 1", 1)),
            (Words{100, 101, 102, 103, 104, 105}));
  EXPECT_EQ(first(run_memory("v_mov_b32 v4, $2\nv_mov_b32 v5, $3\nglobal_atomic_cmpswap $0, $1, v[4:5], off glc\n"
                             "global_load_dword $0, $1, off",
                             "=&v,v,v,v", "i32", "ptr addrspace(1) %out, i32 9, i32 100", 1)),
            (Words{9, 101, 102, 103, 104, 105}));
}

// Descriptors of the first 16 words of `out`: records are bytes; and, indexed, of 4 records of 16 bytes.
class GcnBuffers : public EveryLevel {};
INSTANTIATE_TEST_SUITE_P(Levels, GcnBuffers, testing::Values("default<O0>", "default<O3>"));

std::vector<uint32_t> run_buffer(const std::string& body, const std::string& declarations, const std::string& passes,
                                 uint32_t threads = 20) {
  std::string ir = kAmdgpuHead + declarations;
  ir +=
      "define amdgpu_kernel void @k(ptr addrspace(1) %out) {\n  %t = call i32 @llvm.amdgcn.workitem.id.x()\n"
      "  %x = zext i32 %t to i64\n  %own = add i64 %x, 32\n"
      "  %mine = getelementptr i32, ptr addrspace(1) %out, i64 %own\n  %bytes = shl i32 %t, 2\n"
      "  %address = ptrtoint ptr addrspace(1) %out to i64\n  %low = trunc i64 %address to i32\n"
      "  %above = lshr i64 %address, 32\n  %high = trunc i64 %above to i32\n"
      "  %d0 = insertelement <4 x i32> <i32 0, i32 0, i32 64, i32 159744>, i32 %low, i32 0\n"
      "  %d = insertelement <4 x i32> %d0, i32 %high, i32 1\n  %strided = or i32 %high, 1048576\n"
      "  %e0 = insertelement <4 x i32> <i32 0, i32 0, i32 4, i32 159744>, i32 %low, i32 0\n"
      "  %e = insertelement <4 x i32> %e0, i32 %strided, i32 1\n" +
      body + "  ret void\n}\n";
  bundle::KernelInfo kernel = kernel_of_pointers(1);
  kernel.wave_size = 64;
  AmdgpuCode code(compile(kernel, ir, configuration(passes)));
  std::vector<uint32_t> out(64);
  for (uint32_t i = 0; i < 32; ++i) out[i] = i + 100;
  code.run({out.data()}, threads);
  return out;
}

TEST_P(GcnBuffers, LoadsOutOfRangeAreZero) {
  const std::string declarations =
      "declare i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32>, i32, i32, i32 immarg)\n"
      "declare <4 x float> @llvm.amdgcn.raw.buffer.load.v4f32(<4 x i32>, i32, i32, i32 immarg)\n"
      "declare i32 @llvm.amdgcn.struct.buffer.load.i32(<4 x i32>, i32, i32, i32, i32 immarg)\n"
      "declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1), i16, i32, i32)\n"
      "declare <2 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v2i32(ptr addrspace(8), i32, i32, i32 immarg)\n"
      "declare i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32>, i32, i32 immarg)\n";
  const std::string store = "  store i32 %r, ptr addrspace(1) %mine\n";
  auto expect = [&](const std::string& body, auto expected) {
    std::vector<uint32_t> out = run_buffer(body + store, declarations, GetParam());
    for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], expected(t)) << body << t;
  };
  auto in_range = [](uint32_t word) { return word < 16 ? word + 100 : 0; };
  expect("  %r = call i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32> %d, i32 %bytes, i32 8, i32 0)\n",
         [&](uint32_t t) { return in_range(t + 2); });
  expect("  %r = call i32 @llvm.amdgcn.s.buffer.load.i32(<4 x i32> %d, i32 %bytes, i32 0)\n", in_range);
  // Beyond 32 bits, nothing wraps.
  expect(
      "  %far = or i32 %bytes, -2147483648\n"
      "  %r = call i32 @llvm.amdgcn.raw.buffer.load.i32(<4 x i32> %d, i32 %far, i32 -2147483648, i32 0)\n",
      [](uint32_t) { return 0u; });
  // Word by word: the third of four.
  expect(
      "  %v = call <4 x float> @llvm.amdgcn.raw.buffer.load.v4f32(<4 x i32> %d, i32 %bytes, i32 0, i32 0)\n"
      "  %f = extractelement <4 x float> %v, i32 2\n  %r = bitcast float %f to i32\n",
      [&](uint32_t t) { return in_range(t + 2); });
  expect("  %r = call i32 @llvm.amdgcn.struct.buffer.load.i32(<4 x i32> %e, i32 %t, i32 4, i32 0, i32 0)\n",
         [](uint32_t t) { return t < 4 ? 4 * t + 101 : 0; });
  expect("  %r = call i32 @llvm.amdgcn.struct.buffer.load.i32(<4 x i32> %d, i32 7, i32 %bytes, i32 0, i32 0)\n",
         in_range);
  // As a pointer, chosen from two, and kept in memory.
  expect(
      "  %slot = alloca ptr addrspace(8), align 16, addrspace(5)\n"
      "  %p0 = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1) %out, i16 0, i32 64, i32 "
      "159744)\n"
      "  store ptr addrspace(8) %p0, ptr addrspace(5) %slot, align 16\n"
      "  %p1 = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p1(ptr addrspace(1) %out, i16 0, i32 16, i32 "
      "159744)\n"
      "  %p2 = load ptr addrspace(8), ptr addrspace(5) %slot, align 16\n  %odd = trunc i32 %t to i1\n"
      "  %p = select i1 %odd, ptr addrspace(8) %p1, ptr addrspace(8) %p2\n"
      "  %v = call <2 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v2i32(ptr addrspace(8) %p, i32 %bytes, i32 0, i32 0)\n"
      "  %r = extractelement <2 x i32> %v, i32 1\n",
      [](uint32_t t) { return t + 1 < (t % 2 ? 4 : 16) ? t + 101 : 0; });
  // As assembly.
  expect(
      "  %r = call i32 asm sideeffect \"buffer_load_dword $0, $1, $2, 0 offen offset:8\\0As_waitcnt vmcnt(0)\", "
      "\"=v,v,s\"(i32 %bytes, <4 x i32> %d)\n",
      [&](uint32_t t) { return in_range(t + 2); });
  expect(
      "  %r = call i32 asm sideeffect \"buffer_load_ushort $0, $1, $2, 0 idxen offset:8\", "
      "\"=v,v,s\"(i32 %t, <4 x i32> %e)\n",
      [](uint32_t t) { return t < 4 ? 4 * t + 102 : 0; });
}

TEST_P(GcnBuffers, StoresOutOfRangeAreNone) {
  const std::string declarations =
      "declare void @llvm.amdgcn.raw.buffer.store.i32(i32, <4 x i32>, i32, i32, i32 immarg)\n"
      "declare void @llvm.amdgcn.raw.buffer.store.v2i32(<2 x i32>, <4 x i32>, i32, i32, i32 immarg)\n"
      "declare i32 @llvm.amdgcn.raw.buffer.atomic.add.i32(i32, <4 x i32>, i32, i32, i32 immarg)\n"
      "declare i32 @llvm.amdgcn.raw.buffer.atomic.cmpswap.i32(i32, i32, <4 x i32>, i32, i32, i32 immarg)\n";
  auto first = [&](const std::string& body) {
    std::vector<uint32_t> out = run_buffer(body, declarations, GetParam());
    return std::vector<uint32_t>(out.begin(), out.begin() + 32);
  };
  std::vector<uint32_t> wanted(32);
  for (uint32_t i = 0; i < 32; ++i) wanted[i] = i < 16 ? i : i + 100;
  EXPECT_EQ(first("  call void @llvm.amdgcn.raw.buffer.store.i32(i32 %t, <4 x i32> %d, i32 %bytes, i32 0, i32 0)\n"),
            wanted);
  EXPECT_EQ(
      first("  call void asm sideeffect \"buffer_store_dword $0, $1, $2, 0 offen\", \"v,v,s\"(i32 %t, i32 %bytes, "
            "<4 x i32> %d)\n"),
      wanted);
  for (uint32_t i = 0; i < 32; ++i) wanted[i] = i + 100 + (i < 16 ? i : 0);
  EXPECT_EQ(
      first("  %o = call i32 @llvm.amdgcn.raw.buffer.atomic.add.i32(i32 %t, <4 x i32> %d, i32 %bytes, i32 0, i32 0)\n"),
      wanted);
  EXPECT_EQ(first("  call void asm sideeffect \"buffer_atomic_add $0, $1, $2, 0 offen\", \"v,v,s\"(i32 %t, i32 %bytes, "
                  "<4 x i32> %d)\n"),
            wanted);
  for (uint32_t i = 0; i < 32; ++i) wanted[i] = i == 5 ? 7 : i + 100;
  EXPECT_EQ(
      first(
          "  %o = call i32 @llvm.amdgcn.raw.buffer.atomic.cmpswap.i32(i32 7, i32 105, <4 x i32> %d, i32 %bytes, i32 0, "
          "i32 0)\n"),
      wanted);
  // Of a pair, the word that is in range.
  std::vector<uint32_t> last = first(
      "  %v = insertelement <2 x i32> <i32 1, i32 2>, i32 %t, i32 0\n  %c = icmp eq i32 %t, 15\n"
      "  %o = select i1 %c, i32 60, i32 4096\n"
      "  call void @llvm.amdgcn.raw.buffer.store.v2i32(<2 x i32> %v, <4 x i32> %d, i32 %o, i32 0, i32 0)\n");
  EXPECT_EQ(last[14], 114u);
  EXPECT_EQ(last[15], 15u);
  EXPECT_EQ(last[16], 116u);
}

// Loads of words 1 and 2 places further than the lane's, at most 16, to words of the tile; then the neighbour's.
TEST_P(GcnBuffers, LoadsToSharedMemory) {
  const std::string declarations =
      "@tile = internal addrspace(3) global [256 x i32] undef, align 16\n"
      "declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)\n"
      "define void @set(i32 %m) {\n  call void asm sideeffect \"s_mov_b32 m0, $0\", \"s\"(i32 %m)\n  ret void\n}\n";
  auto load = [&](const std::string& call, unsigned words) {
    return run_buffer(
        "  %from = getelementptr i32, ptr addrspace(1) %out, i64 %x\n  %tile = ptrtoint ptr addrspace(3) @tile to "
        "i32\n" +
            call + "  call void @llvm.amdgcn.s.barrier()\n  %other = xor i32 %t, 1\n  %n = mul i32 %other, " +
            std::to_string(words) +
            "\n  %m = add i32 %n, 1\n  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %m\n"
            "  %r = load i32, ptr addrspace(3) %p\n  store i32 %r, ptr addrspace(1) %mine\n",
        declarations, GetParam());
  };
  const std::string m0 = "  call void asm sideeffect \"s_mov_b32 m0, $0\\0As_nop 0\\0A";
  auto in_range = [](uint32_t word) { return word < 16 ? word + 100 : 0; };
  std::vector<uint32_t> out = load(
      m0 + "buffer_load_dword $1, $2, 0 offen offset:4 lds\\0As_waitcnt vmcnt(0)\", \"s,v,s,~{memory}\"(i32 %tile, i32 "
           "%bytes, <4 x i32> %d)\n",
      1);
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], in_range((t ^ 1) + 1)) << t;
  // Four words a lane: the second.
  out = load(m0 + "buffer_load_dwordx4 $1, $2, 0 offen lds\", \"s,v,s\"(i32 %tile, i32 %bytes, <4 x i32> %d)\n", 4);
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], in_range((t ^ 1) + 1)) << t;
  out = load(m0 + "buffer_load_dword $1, $2, 0 idxen offset:4 lds\", \"s,v,s\"(i32 %tile, i32 %t, <4 x i32> %e)\n", 1);
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], (t ^ 1) < 4 ? 4 * (t ^ 1) + 101 : 0) << t;
  for (const char* text : {"global_load_lds_dword $1, off offset:4", "global_load_dword $1, off offset:4 lds"}) {
    out = load(m0 + text + "\", \"s,v\"(i32 %tile, ptr addrspace(1) %from)\n", 1);
    for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], (t ^ 1) + 101) << text << t;
  }
  out = load(m0 + "global_load_lds_dword $1, $2 offset:4\", \"s,v,s\"(i32 %tile, i32 %bytes, ptr addrspace(1) %out)\n",
             1);
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], (t ^ 1) + 101) << t;
  // Set in one statement, of another function too, and used in another one.
  const std::string set = "  call void asm sideeffect \"s_mov_b32 m0, $0\", \"s\"(i32 %tile)\n";
  const std::string use =
      "  call void asm sideeffect \"buffer_load_dword $0, $1, 0 offen offset:4 lds\", \"v,s,~{memory}\"(i32 "
      "%bytes, <4 x i32> %d)\n";
  for (const std::string& first : {set, std::string("  call void @set(i32 %tile)\n")}) {
    out = load(first + use, 1);
    for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], in_range((t ^ 1) + 1)) << first << t;
  }
  EXPECT_THROW(load(use, 1), Error) << "nothing sets it";
  out = load(
      "  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %from, ptr addrspace(3) @tile, i32 4, i32 4, i32 0)\n",
      1);
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], (t ^ 1) + 101) << t;
}

TEST(GcnBuffersToShared, LanesFollowOneAnother) {
  std::vector<uint32_t> out = run_buffer(
      "  call void @llvm.amdgcn.raw.buffer.load.lds(<4 x i32> %d, ptr addrspace(3) @tile, i32 4, i32 %bytes, i32 0, "
      "i32 4, i32 0)\n"
      "  call void @llvm.amdgcn.s.barrier()\n  %other = xor i32 %t, 1\n  %n = add i32 %other, 1\n"
      "  %p = getelementptr i32, ptr addrspace(3) @tile, i32 %n\n  %r = load i32, ptr addrspace(3) %p\n"
      "  store i32 %r, ptr addrspace(1) %mine\n",
      "@tile = internal addrspace(3) global [256 x i32] undef, align 16\n"
      "declare void @llvm.amdgcn.raw.buffer.load.lds(<4 x i32>, ptr addrspace(3), i32, i32, i32, i32, i32)\n",
      "default<O3>");
  for (uint32_t t = 0; t < 20; ++t) EXPECT_EQ(out[32 + t], (t ^ 1) + 1 < 16 ? (t ^ 1) + 101 : 0) << t;
}

}  // namespace
}  // namespace mneme::codegen::host
