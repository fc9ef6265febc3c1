// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the fuzzer's seeds: make_corpus FOLDER. Run it, and keep what it writes in lib/bundle/corpus, when the format
// changes.
#include <cstdio>

#include "bundle/testing/ranks.h"

using mneme::bundle::kBlockSize;
using mneme::bundle::passed_on;
using mneme::bundle::rank_bundle;
using mneme::bundle::sample_bundle;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus FOLDER\n");
    return 2;
  }
  auto save = [&](const char* name, const std::string& bytes) {
    mneme::write_file(std::string(argv[1]) + "/" + name, bytes);
  };
  save("packs", sample_bundle({1, 2, 3000, true, "packs"}));
  save("several_blocks", sample_bundle({1, 2, 3 * kBlockSize, false, "packs"}));
  save("two_kernels", sample_bundle({2, 1, 500, true, "packs"}));
  save("many_segments", sample_bundle({1, 1, 500, false, "packs", 20}));
  save("kept", passed_on({rank_bundle({{0, 1, 1, 3, "packs", 1}}), rank_bundle({{1, 1, 1, 3, "packs", 1}})}, {}, 1));
  save("raw", sample_bundle({1, 2, 3000, true, "raw"}));
  save("bulk_variants", sample_bundle({1, 2, 500, true, "packs", 0, true}));
  save("code_once", sample_bundle({2, 1, 500, true, "packs", 0, false, false}));  // without_ir is of before that
  save("choices", sample_bundle({1, 2, 500, true, "packs", 0, false, true, true}));
  std::string cut = sample_bundle({1, 1, 500, true, "packs"});
  save("truncated", cut.substr(0, cut.size() - 2000));
}
