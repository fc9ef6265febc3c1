// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "check_target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "replay/testing/recording.h"

namespace mneme::restore {
namespace {

// Remembers blocks, but for one byte at `bad`.
class ForgetfulDevice : public device::Device {
 public:
  explicit ForgetfulDevice(uint64_t bad) : bad_(bad) {}
  std::string name() const override { return "forgetful"; }
  std::string clock() const override { return "none"; }
  bool runs_in_this_process() const override { return true; }
  void expect(std::span<const device::BlockRange> ranges) override { expected_ = {ranges.begin(), ranges.end()}; }
  void map(uint64_t address, uint64_t size) override {
    EXPECT_TRUE(std::ranges::any_of(expected_, [&](const device::BlockRange& range) {
      return address >= range.address && size <= range.size && address - range.address <= range.size - size;
    })) << address;
  }
  void write(uint64_t address, Bytes bytes) override {
    std::string& block = blocks_[address] = std::string(text_of(bytes));
    if (bad_ - address < block.size()) block[bad_ - address] ^= 1;
  }
  void read(uint64_t address, std::span<std::byte> out) override {
    std::memcpy(out.data(), blocks_.at(address).data(), out.size());
  }
  std::unique_ptr<device::Code> load(const bundle::KernelInfo&, Bytes) override { return nullptr; }
  uint64_t execute(device::Code&, const device::Launch&) override { return 0; }

 private:
  uint64_t bad_;
  std::vector<device::BlockRange> expected_;
  std::map<uint64_t, std::string> blocks_;
};

std::string check(uint64_t bad, bool& all_equal) {
  run::Recording recording;
  recording.add_instance(1000, 1);
  Fd file = memory_file("recording", bytes_of(recording.finish()));
  bundle::Reader reader(file.get(), "a recording", bundle::Memory::kDecode);
  CheckTarget target([&] { return std::make_unique<ForgetfulDevice>(bad); });
  testing::internal::CaptureStderr();
  while (auto item = reader.next()) {
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) target.take(*instance, reader);
  }
  all_equal = target.all_equal();
  EXPECT_EQ(target.states(), 2u);
  return testing::internal::GetCapturedStderr();
}

TEST(CheckTarget, NamesWhatTheDeviceForgot) {
  bool all_equal = true;
  std::string message = check(run::kTableAddress + 5, all_equal);
  EXPECT_FALSE(all_equal);
  EXPECT_NE(message.find("prologue of instance"), std::string::npos) << message;
  EXPECT_NE(message.find("segment at 0x400800000000 1 bytes differ on the device, the first at offset 5"),
            std::string::npos)
      << message;
}

TEST(CheckTarget, IsContentWithADeviceThatRemembers) {
  bool all_equal = false;
  EXPECT_EQ(check(0, all_equal), "");
  EXPECT_TRUE(all_equal);
}

TEST(CheckTarget, DoesNotCareForBytesOfNoSegment) {
  bool all_equal = false;
  EXPECT_EQ(check(run::kTableAddress + run::kTableSize, all_equal), "");
  EXPECT_TRUE(all_equal);
}

}  // namespace
}  // namespace mneme::restore
