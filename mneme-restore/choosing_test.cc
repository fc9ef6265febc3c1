// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choosing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace mneme::restore {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Digest kOne = digest_of("one"), kTwo = digest_of("two");

bundle::Choice choice(const char* variant, const std::string& guard = "", uint32_t blocks = 4,
                      const char* kernel = "a kernel") {
  bundle::Choice made;
  made.kernel = digest_of(kernel);
  made.device = "cuda";
  made.target = "cuda:sm_90";
  made.grid.x = blocks;
  if (!guard.empty()) made.guards = {{8, guard}};
  made.variant = digest_of(variant);
  made.id = bundle::choice_id(made);
  return made;
}

Proof proof(uint64_t baseline, uint64_t time, const Digest& instance = kOne, uint32_t rounds = 6) {
  return {instance, std::vector<uint64_t>(rounds, baseline), std::vector<uint64_t>(rounds, time), rounds, true};
}

std::vector<Digest> variants_of(const std::vector<bundle::Choice>& choices) {
  std::vector<Digest> variants;
  for (const bundle::Choice& one : choices) variants.push_back(one.variant);
  return variants;
}

TEST(Choosing, TakesTheFastest) {
  Choosing choosing;
  choosing.prove(choice("slow"), proof(100, 90));
  choosing.prove(choice("fast"), proof(100, 50));
  choosing.prove(choice("later"), proof(100, 50));
  choosing.prove(choice("no faster"), proof(100, 100));
  choosing.prove(choice("elsewhere", "", 5), proof(100, 80));
  const std::vector<bundle::Choice> best = choosing.best();
  ASSERT_THAT(best, SizeIs(2));
  const bundle::Choice& fast = best[0].grid.x == 4 ? best[0] : best[1];
  EXPECT_EQ(fast.variant, digest_of("fast")) << "the first of equal ones";
  EXPECT_EQ(fast.baseline_ns, 100u);
  EXPECT_EQ(fast.median_ns, 50u);
  EXPECT_EQ(fast.ratio, 2);
  EXPECT_EQ(fast.low, 2);
  EXPECT_EQ(fast.high, 2);
  EXPECT_EQ(fast.instances, 1u);
}

// Of equal keys: the work of all of them counts.
TEST(Choosing, AddsUpTheInstancesOfAKey) {
  Choosing choosing;
  choosing.prove(choice("both"), proof(100, 10, kOne));
  choosing.prove(choice("both"), proof(1000, 990, kTwo));
  choosing.prove(choice("both"), proof(100, 1, kOne));  // it is known
  const std::vector<bundle::Choice> best = choosing.best();
  ASSERT_THAT(best, SizeIs(1));
  EXPECT_EQ(best[0].baseline_ns, 1100u);
  EXPECT_EQ(best[0].median_ns, 1000u);
  EXPECT_EQ(best[0].ratio, 1.1);
  EXPECT_EQ(best[0].instances, 2u);
  choosing.prove(choice("both"), proof(10, 1000, digest_of("three")));
  EXPECT_THAT(choosing.best(), IsEmpty()) << "it is slower now";
}

// The same that is wrong once is not chosen, however fast.
TEST(Choosing, TakesNothingThatIsRefuted) {
  Choosing choosing;
  choosing.prove(choice("wrong"), proof(100, 10, kOne));
  choosing.refute(choice("wrong"));
  choosing.prove(choice("right"), proof(100, 50, kOne));
  choosing.prove(choice("wrong", "", 5), proof(100, 50, kTwo));
  EXPECT_THAT(variants_of(choosing.best()), testing::UnorderedElementsAre(digest_of("right"), digest_of("wrong")))
      << "for another key it is right";
  choosing.refute(choice("right"));
  EXPECT_THAT(choosing.best(), SizeIs(1));
}

TEST(Choosing, NoiseIsNotFaster) {
  Choosing choosing;
  Proof noisy = proof(100, 100);
  noisy.times = {50, 150, 60, 140, 70, 130};
  choosing.prove(choice("noisy"), noisy);
  EXPECT_THAT(choosing.best(), IsEmpty());
  choosing.prove(choice("few rounds", "", 5), proof(100, 99, kOne, 5));
  ASSERT_THAT(choosing.best(), SizeIs(1)) << "of few rounds there is no interval";
  EXPECT_EQ(choosing.best()[0].low, 0);
}

TEST(Choosing, ALaunchThatChangesNothingProvesNothing) {
  Choosing choosing;
  Proof nothing = proof(100, 1);
  nothing.changed_memory = false;
  choosing.prove(choice("does nothing"), nothing);
  EXPECT_THAT(choosing.best(), IsEmpty());
  EXPECT_EQ(choosing.little_proven(), 1u);
  choosing.prove(choice("does nothing", "", 5), proof(100, 1, kTwo));
  EXPECT_THAT(choosing.best(), SizeIs(2)) << "another launch has shown that it does something";
  EXPECT_EQ(choosing.little_proven(), 0u);
}

TEST(Choosing, MergesWhatWasChosenBefore) {
  bundle::Choice before = choice("before");
  before.ratio = 1.5;
  before.instances = 7;
  Choosing choosing;
  choosing.add(before);
  EXPECT_THAT(variants_of(choosing.best()), ElementsAre(before.variant));
  EXPECT_EQ(bundle::write(choosing.best()[0]), bundle::write(before));
  choosing.prove(choice("slower"), proof(110, 100));
  EXPECT_THAT(variants_of(choosing.best()), ElementsAre(before.variant));
  choosing.prove(choice("faster"), proof(200, 100));
  EXPECT_THAT(variants_of(choosing.best()), ElementsAre(digest_of("faster")));
  choosing.prove(choice("before"), proof(300, 100));
  EXPECT_THAT(variants_of(choosing.best()), ElementsAre(before.variant)) << "measured again";
  EXPECT_EQ(choosing.best()[0].ratio, 3);
  choosing.refute(before);
  EXPECT_THAT(variants_of(choosing.best()), ElementsAre(digest_of("faster")));
}

// So that the choice with the most guards is the one to take.
TEST(Choosing, KeepsConstantsOnlyWhereTheyHelp) {
  Choosing choosing;
  choosing.prove(choice("general"), proof(100, 50, kOne));
  choosing.prove(choice("general"), proof(100, 10, kTwo));
  choosing.prove(choice("constant one", "1111"), proof(100, 40, kOne));
  choosing.prove(choice("constant two", "2222"), proof(100, 20, kTwo));
  EXPECT_THAT(variants_of(choosing.best()),
              testing::UnorderedElementsAre(digest_of("general"), digest_of("constant one")))
      << "on its launch, the second takes longer than the general one";
  choosing.prove(choice("more constant", "11112222"), proof(100, 40, kOne));
  EXPECT_THAT(choosing.best(), SizeIs(2));
  choosing.prove(choice("other launch", "2222", 5), proof(100, 90, digest_of("three")));
  EXPECT_THAT(choosing.best(), SizeIs(3));
}

TEST(Choosing, IsInTheOrderOfTheKernels) {
  Choosing choosing;
  for (const char* kernel : {"c", "a", "b"}) {
    for (uint32_t blocks : {3, 1, 2}) choosing.prove(choice("v", "", blocks, kernel), proof(2, 1));
  }
  const std::vector<bundle::Choice> best = choosing.best();
  ASSERT_THAT(best, SizeIs(9));
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(best[i].kernel, digest_of(i < 3 ? "c" : i < 6 ? "a" : "b"));
    if (i % 3 > 0) EXPECT_LT(best[i - 1].id, best[i].id);
  }
}

TEST(ChoiceFor, HasTheLaunchAndWhatIsConstant) {
  bundle::KernelInfo kernel;
  kernel.id = kOne;
  kernel.argument_bytes = 12;
  kernel.arguments = {{0, 8, "pointer", "float", {}}, {8, 4, "scalar", "i32", {}}};
  bundle::InstanceInfo instance;
  instance.id = kTwo;
  instance.kernel = kOne;
  instance.grid = {8, 1, 1};
  instance.block = {64, 1, 1};
  instance.shared_bytes = 16;
  instance.cooperative = true;
  instance.arguments = "pppppppp\x01\x02\x03\x04";
  bundle::Configuration configuration;
  configuration.target = "hip:gfx90a:xnack+";
  bundle::Choice plain = choice_for(kernel, instance, kTwo, configuration);
  EXPECT_EQ(plain.device, "hip");
  EXPECT_EQ(plain.id, bundle::choice_id(plain));
  EXPECT_FALSE(plain.launch);
  EXPECT_TRUE(plain.guards.empty());
  EXPECT_TRUE(has_key(instance, plain));

  configuration.block = bundle::Dim3{32, 1, 1};
  configuration.specialize_args = "all";
  configuration.instance = kTwo;
  const bundle::Choice special = choice_for(kernel, instance, kTwo, configuration);
  ASSERT_TRUE(special.launch);
  EXPECT_EQ(special.launch->grid.x, 16u);
  EXPECT_EQ(special.grid.x, 8u);
  EXPECT_EQ(special.guards, (std::vector<bundle::Guard>{{8, "\x01\x02\x03\x04"}}));
  EXPECT_NE(special.id, plain.id);
  EXPECT_TRUE(has_key(instance, special));
  for (auto change : std::vector<std::function<void(bundle::InstanceInfo&)>>{
           [](auto& i) { i.arguments[8] = 7; }, [](auto& i) { i.grid.y = 2; }, [](auto& i) { i.block.x = 32; },
           [](auto& i) { i.shared_bytes = 0; }, [](auto& i) { i.cooperative = false; },
           [](auto& i) { i.cluster.x = 2; }, [](auto& i) { i.kernel = kTwo; }}) {
    bundle::InstanceInfo other = instance;
    change(other);
    EXPECT_FALSE(has_key(other, special));
  }
  instance.arguments[0] = 'q';
  EXPECT_TRUE(has_key(instance, special)) << "no constant";
}

}  // namespace
}  // namespace mneme::restore
