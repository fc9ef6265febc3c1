// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernels.h"

#include <gtest/gtest.h>

#include "objects/cuda_fatbin_builder.h"
#include "recorder/core/sample_cubin.h"

namespace mneme::record {
namespace {

using objects::FatbinEntry;

constexpr char kName[] = "scale";

// Of which nothing can be unpacked.
FatbinEntry damaged(uint32_t processor) {
  FatbinEntry entry = objects::compressed(std::string(5000, 'x'));
  entry.processor = processor;
  entry.contents[entry.contents.size() / 2] ^= 0x55;
  return entry;
}

FatbinEntry packed(uint32_t processor, const std::string& image, uint16_t kind = objects::kCubin) {
  FatbinEntry entry = objects::compressed(image);
  entry.processor = processor;
  entry.kind = kind;
  return entry;
}

// Of a kernel that this fat binary registers, and that is launched on a device.
class Registered {
 public:
  Registered(const std::vector<FatbinEntry>& entries, const std::string& first_processor)
      : image_(objects::fatbin(entries)),
        kernels_(Limits(), [first_processor] { return first_processor; }, [](void*) { return Bytes(); }) {
    kernels_.add_fat_binary(this, reinterpret_cast<const std::byte*>(image_.data()));
    kernels_.add_stub(this, kName, kName);
  }

  std::shared_ptr<const Stub> launched(int device, const std::string& processor) {
    std::shared_ptr<const Stub> stub = kernels_.find(kName, device);
    if (!stub->asks_for_code) return stub;
    return kernels_.take_code(
        *stub, device, processor, [] { return std::nullopt; }, {}, [](uint64_t) { return false; });
  }

 private:
  std::string image_;
  Kernels kernels_;
};

const std::string kImage = cubin(parameter(0, 0, 8)), kOther = cubin(parameter(0, 0, 8) + parameter(1, 8, 8));

TEST(Kernels, UnpackWhatTheDeviceRuns) {
  Registered registered({damaged(75), damaged(80), packed(90, kImage), damaged(100)}, "sm_90");
  const auto stub = registered.launched(0, "sm_90");
  ASSERT_TRUE(stub->info) << stub->trouble;
  EXPECT_EQ(text_of(stub->bytes), kImage);
  EXPECT_EQ(registered.launched(0, "sm_90"), stub);
  // The same damage where it matters.
  EXPECT_NE(Registered({packed(80, kImage), damaged(90)}, "sm_90").launched(0, "sm_90")->trouble.find("damaged"),
            std::string::npos);
}

TEST(Kernels, UnpackThePtxOfThatProcessor) {
  const std::string text = ".version 9.0\n.target sm_90\n.entry scale(.param .u64 a) { ret; }";
  FatbinEntry other = damaged(80);
  other.kind = objects::kPtx;
  Registered registered({packed(90, kImage), other, packed(90, text + std::string(3, '\0'), objects::kPtx)}, "sm_90");
  EXPECT_EQ(text_of(registered.launched(0, "sm_90")->ptx), text);
}

TEST(Kernels, HaveTheCodeOfEachDevice) {
  Registered registered({packed(80, kImage), packed(90, kOther)}, "sm_90");
  const auto first = registered.launched(0, "sm_90"), second = registered.launched(1, "sm_80");
  EXPECT_EQ(text_of(first->bytes), kOther);
  EXPECT_EQ(text_of(second->bytes), kImage);
  EXPECT_NE(first->info->id, second->info->id);
  EXPECT_NE(first->recording, second->recording);
  EXPECT_EQ(registered.launched(0, "sm_90"), first);
  EXPECT_EQ(registered.launched(2, "sm_80"), second) << "devices of one processor have one kernel";
}

}  // namespace
}  // namespace mneme::record
