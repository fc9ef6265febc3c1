# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests and benchmarks. Labels say what a test is and which wing it is of; the target tests-LABEL builds what its tests
# need, so that `make test LABEL=bundle` builds no more.
#
#   unit       GoogleTest programs beside the code     WING       all tests of a folder of lib/, or of mneme-WING
#   pipeline   a test program through all tools        amd        code for AMD's GPUs, and their runtime
#   cuda       CUDA programs, NVIDIA's runtime         stress     random programs
#   mutants    kernels with a mistake in each          long       takes long; a sample in `make test`
#   docs       examples in README.md and docs/         slow       only `make test-all` runs these
#   python     the Python package

# mneme_labels(test label…)
function(mneme_labels test)
  set_property(TEST ${test} APPEND PROPERTY LABELS ${ARGN})
  foreach(label IN LISTS ARGN)
    if(NOT TARGET tests-${label})
      add_custom_target(tests-${label})
    endif()
  endforeach()
endfunction()

# The wing of the current folder: bundle for lib/bundle, run for mneme-run, nothing for tests.
function(mneme_wing out)
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(wing "")
  if(folder MATCHES "^(lib/|mneme-)([^/]+)")
    set(wing ${CMAKE_MATCH_2})
  endif()
  set(${out} ${wing} PARENT_SCOPE)
endfunction()

# mneme_test(digest_test [LLVM] SOURCES digest_test.cc LINK mneme_base): a GoogleTest program under ctest.
function(mneme_test name)
  cmake_parse_arguments(ARG "LLVM" "" "SOURCES;LINK" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_options(${name} PRIVATE -O0)  # optimising them takes longer than running them
  target_link_libraries(${name} PRIVATE mneme_options ${ARG_LINK} GTest::gtest_main)
  if(ARG_LLVM)
    mneme_precompiled(${name} llvm-test)
  else()
    mneme_precompiled(${name} test)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  mneme_wing(wing)
  mneme_labels(${name} unit ${wing})
  foreach(label unit ${wing})
    add_dependencies(tests-${label} ${name})
  endforeach()
endfunction()

# mneme_python_test(name script [ARGUMENTS argument…] [LABELS label…] [NEEDS target…]): a test of whole tools, in Python.
# Status 77 is "skipped": it says why.
function(mneme_python_test name script)
  cmake_parse_arguments(ARG "" "" "ARGUMENTS;LABELS;NEEDS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "MNEME_BUILD=${CMAKE_BINARY_DIR};XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/tests/cache;MNEME_VERIFY_PASSES=1"
    TIMEOUT 7200)  # a pipe that hangs is ended, and named, by the tests themselves, long before
  mneme_wing(wing)
  mneme_labels(${name} ${wing} ${ARG_LABELS})
  foreach(label ${wing} ${ARG_LABELS})
    add_dependencies(tests-${label} tools test_headers ${ARG_NEEDS})
  endforeach()
endfunction()

# mneme_benchmark(pack_bench SOURCES pack_bench.cc LINK …): `make bench` builds and runs it.
function(mneme_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE mneme_options ${ARG_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(benchmarks ${name})
endfunction()
add_custom_target(benchmarks)

# mneme_fuzzer(reader_fuzz MOST_BYTES SOURCES reader_fuzz.cc … LINK …): a program of libFuzzer, with the corpus in the
# folder beside its CMakeLists.txt, or in CORPUS. Its sources are compiled once more, instrumented, so that only `make fuzz` and
# `make test-all` build it. Mutations take the words of DICTIONARY.
option(MNEME_FUZZ "Build the fuzzers" ON)
set(MNEME_FUZZ_SECONDS 60 CACHE STRING "How long the tests of these names fuzz")
function(mneme_fuzzer name most_bytes)
  cmake_parse_arguments(ARG "" "CORPUS;DICTIONARY" "SOURCES;LINK" ${ARGN})
  if(NOT MNEME_FUZZ OR NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    return()
  endif()
  if(NOT ARG_CORPUS)
    set(ARG_CORPUS corpus)
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/lib)
  target_compile_options(${name} PRIVATE -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${name} PRIVATE mneme_options ${ARG_LINK})
  set(found ${CMAKE_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found}/test)
  set(options -max_len=${most_bytes} -timeout=30 -rss_limit_mb=2048 -artifact_prefix=${found}/)
  if(ARG_DICTIONARY)
    list(APPEND options -dict=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DICTIONARY})
  endif()
  list(JOIN options " " line)
  # scripts/fuzz runs it likewise.
  file(WRITE ${found}/options "${line} ${found}/corpus ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS}\n")
  add_test(NAME ${name} COMMAND ${name} -max_total_time=${MNEME_FUZZ_SECONDS} -print_final_stats=1 ${options}
    ${found}/test ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_CORPUS})
  mneme_labels(${name} slow)
  add_dependencies(tests-slow ${name})
endfunction()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()
