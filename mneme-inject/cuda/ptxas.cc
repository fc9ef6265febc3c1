// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands for a CUDA toolkit's ptxas: what PTX carries for us (carried.h) is taken out of it, so that nothing else gets
// to see it, and becomes sections of the cubin. Where addresses of functions are taken, ptxas runs a second time, to
// tell where it places them. Where it leaves that to the loader, the second cubin is the result: it has variables that
// hold the addresses.
#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/process.h"
#include "cuda/carried.h"
#include "cuda/function_places.h"
#include "cuda/wrapper.h"
#include "objects/embedded.h"

using namespace mneme;

namespace {

using Sections = std::map<std::string, std::string>;

struct Input {
  std::string path;
  std::string ptx;
  Sections sections;
};

// Of the one file of PTX among the arguments.
Input take_from_input(const std::vector<std::string>& arguments, const std::string& output) {
  for (const std::string& word : arguments) {
    bool is_input = (word.ends_with(".s") || word.ends_with(".ptx")) && word != output && file_exists(word);
    if (!is_input) continue;
    Input input{word, read_file(word), {}};
    input.sections = inject::take_carried(input.ptx);
    if (!input.sections.empty()) write_file(word, input.ptx);
    return input;
  }
  return {};
}

// What ptxas says was said already. Empty: it refuses.
std::string assembled(const std::string& own, std::vector<std::string> arguments, const Input& input,
                      const std::string& output, const std::string& text) {
  TemporaryFolder folder;
  std::string ptx = folder.path() + "/addresses.ptx", cubin = folder.path() + "/addresses.cubin";
  write_file(ptx, text);
  for (std::string& word : arguments) {
    if (word == input.path) word = ptx;
    if (word == output) word = cubin;
    if (word.ends_with('=' + output)) word.replace(word.size() - output.size(), output.size(), cubin);
  }
  arguments.insert(arguments.begin(), own);
  return run_command(arguments).status == 0 && file_exists(cubin) ? read_file(cubin) : std::string();
}

// The kernels' records get the places of their functions. Where functions have none, but the loader's addresses, the
// program gets the variables that hold these, and the recorder asks for them.
void tell_addresses(const std::string& own, const std::vector<std::string>& arguments, Input& input,
                    const std::string& output, const std::string& names) {
  const std::string ptx = inject::with_address_variables(input.ptx, names);
  const std::string cubin = assembled(own, arguments, input, output, ptx);
  if (cubin.empty()) return;
  inject::FunctionPlaces places = inject::places_in(bytes_of(cubin), names);
  auto records = input.sections.find(std::string(objects::kEmbeddedSection));
  if (!places.empty()) {
    if (records != input.sections.end()) records->second = inject::with_places(records->second, places);
    return;
  }
  write_file(input.path, ptx);
  write_file(output, cubin);
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
    Input input = take_from_input(arguments, output);
    int status = inject::run_own(own, arguments);
    if (status != 0 || input.sections.empty() || output.empty()) return status;
    if (auto names = input.sections.extract(std::string(inject::kFunctionsSection))) {
      tell_addresses(own, arguments, input, output, names.mapped());
    }
    add_sections(output, input.sections);
    return status;
  });
}
