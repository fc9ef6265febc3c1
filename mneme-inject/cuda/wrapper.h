// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that stand for a CUDA toolkit's own in the folder of links that clang is shown (cuda_view.h). The toolkit's
// is beside, as toolkit-NAME.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace mneme::inject {

// The main function of such a program: runs what it does, says what went wrong, and gives the exit status.
int stand_in(int argc, char** argv,
             const std::function<int(const std::string& own, const std::vector<std::string>& arguments)>& run);

// Runs the toolkit's program, by the name that it has there and with the same standard streams; gives its exit status.
int run_own(const std::string& own, const std::vector<std::string>& arguments);

// The file that is written: -o FILE, --output-file FILE or --output-file=FILE; empty if none is named.
std::string output_of(const std::vector<std::string>& arguments);

}  // namespace mneme::inject
