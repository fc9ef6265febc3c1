// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands for a CUDA toolkit's ptxas: what PTX carries for us (carried.h) is taken out of it, so that nothing else gets
// to see it, and becomes sections of the cubin.
#include <string_view>

#include "base/file.h"
#include "cuda/carried.h"
#include "cuda/stand.h"
#include "objects/embedded.h"

using namespace mneme;

namespace {

using Sections = std::map<std::string, std::string>;

// Of the one file of PTX among the arguments.
Sections take_from_input(const std::vector<std::string>& arguments, const std::string& output) {
  for (const std::string& word : arguments) {
    bool is_input = (word.ends_with(".s") || word.ends_with(".ptx")) && word != output && file_exists(word);
    if (!is_input) continue;
    std::string ptx = read_file(word);
    Sections sections = inject::take_carried(ptx);
    if (!sections.empty()) write_file(word, ptx);
    return sections;
  }
  return {};
}

void add_sections(const std::string& cubin, const Sections& sections) {
  std::string image = read_file(cubin);
  for (const auto& [name, contents] : sections) {
    image = objects::with_section(bytes_of(image), name, contents, "the output of ptxas");
  }
  write_file(cubin, image);
}

}  // namespace

int main(int argc, char** argv) {
  return inject::stand_in(argc, argv, [](const std::string& own, const std::vector<std::string>& arguments) {
    std::string output = inject::output_of(arguments);
    Sections sections = take_from_input(arguments, output);
    int status = inject::run_own(own, arguments);
    if (status == 0 && !sections.empty() && !output.empty()) add_sections(output, sections);
    return status;
  });
}
