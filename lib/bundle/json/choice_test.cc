// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/format.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "bundle/testing/format_tests.h"

namespace mneme::bundle {
namespace {

Choice some_choice() {
  Choice choice;
  choice.kernel = kOne;
  choice.device = "cuda";
  choice.target = "cuda:sm_90";
  choice.grid = {4, 2, 1};
  choice.block = {256, 1, 1};
  choice.shared_bytes = 64;
  choice.variant = kTwo;
  choice.baseline_ns = 300;
  choice.median_ns = 200;
  choice.ratio = 1.5;
  choice.instances = 2;
  choice.id = choice_id(choice);
  return choice;
}

TEST(Json, ChoiceRoundTrip) {
  Choice choice = some_choice();
  const std::string key = R"("kernel":")" + kOne.hex() +
                          R"(","device":"cuda","target":"cuda:sm_90","grid":[4,2,1],"block":[256,1,1],)"
                          R"("shared_bytes":64)";
  EXPECT_EQ(choice.id, digest_of("{" + key + "}"));
  EXPECT_TRUE(write(choice).starts_with(R"({"id":")" + choice.id.hex() + "\"," + key + R"(,"variant":")" + kTwo.hex() +
                                        R"(","baseline_ns":300,"median_ns":200,"ratio":1.5,"instances":2,"digest":)"))
      << write(choice);
  EXPECT_EQ(write(parse_choice(write(choice), "it")), write(choice));

  choice.cooperative = true;
  choice.cluster = {2, 1, 1};
  choice.guards = {{4, "\x01\x02"}, {8, std::string(8, '\0')}};
  choice.launch = LaunchSize{{8, 2, 1}, {128, 1, 1}, 32};
  choice.low = 1.25;
  choice.high = 1.75;
  choice.id = choice_id(choice);
  const Choice back = parse_choice(write(choice), "it");
  EXPECT_EQ(write(back), write(choice));
  EXPECT_EQ(back.id, choice_id(back));
  EXPECT_EQ(back.guards, choice.guards);
  EXPECT_EQ(back.launch, choice.launch);
  EXPECT_NE(write(choice).find(R"("guards":[{"offset":4,"bytes":"0102"},)"), std::string::npos);
}

// So that equal keys have equal names, and others have not.
TEST(Json, ChoicesAreNamedByTheirKeys) {
  const Choice choice = some_choice();
  auto id_of = [&](const std::function<void(Choice&)>& change) {
    Choice changed = choice;
    change(changed);
    return choice_id(changed);
  };
  EXPECT_EQ(id_of([](Choice& c) {
              c.variant = kThree;
              c.launch = LaunchSize{};
              c.ratio = c.low = c.high = 7;
              c.baseline_ns = c.median_ns = c.instances = 7;
            }),
            choice.id);
  const std::set<Digest> ids = {choice.id,
                                id_of([](Choice& c) { c.kernel = kTwo; }),
                                id_of([](Choice& c) { c.device = "hip"; }),
                                id_of([](Choice& c) { c.target = "cuda:sm_80"; }),
                                id_of([](Choice& c) { c.grid.x = 5; }),
                                id_of([](Choice& c) { c.block.y = 2; }),
                                id_of([](Choice& c) { c.shared_bytes = 0; }),
                                id_of([](Choice& c) { c.cooperative = true; }),
                                id_of([](Choice& c) { c.cluster.x = 2; }),
                                id_of([](Choice& c) { c.guards = {{0, "a"}}; }),
                                id_of([](Choice& c) { c.guards = {{0, "b"}}; })};
  EXPECT_EQ(ids.size(), 11u);
}

}  // namespace
}  // namespace mneme::bundle
