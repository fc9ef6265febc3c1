# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# add_mneme(target [OFFLOAD_ARCH gfx90a sm_90 …]): makes the HIP and CUDA kernels of a target recordable. Its compiler,
# which has to be clang 19, is run through mneme-inject. Sources named .hip are compiled as HIP by the C++ compiler, for the
# processors given (or those in CMAKE_HIP_ARCHITECTURES, or clang's default), and sources named .cu likewise as CUDA
# (CMAKE_CUDA_ARCHITECTURES), unless the project says how itself by setting their LANGUAGE or enabling the language HIP or
# CUDA. The target may include mneme/MnemeAnnotation.hpp and, from C, mneme/annotate.h.

# Sources of `target` whose names end in .suffix are compiled as `language` with these options, where the project does not
# say how; sets `found` to whether there are any.
function(mneme_compile_sources target suffix language options found)
  set(${found} FALSE PARENT_SCOPE)
  string(TOUPPER ${language} cmake_language)
  if(CMAKE_${cmake_language}_COMPILER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${folder}")
    if(NOT source MATCHES "\\.${suffix}$")
      continue()
    endif()
    get_source_file_property(own "${source}" TARGET_DIRECTORY ${target} LANGUAGE)
    if(own)
      continue()
    endif()
    set(${found} TRUE PARENT_SCOPE)
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -x ${language} ${options})
  endforeach()
endfunction()

function(add_mneme target)
  cmake_parse_arguments(ARG "" "" "OFFLOAD_ARCH" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_mneme(${target}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "add_mneme: '${target}' is not a target")
  endif()
  if(NOT (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^19\\."))
    message(FATAL_ERROR "add_mneme(${target}): the C++ compiler is ${CMAKE_CXX_COMPILER_ID} "
      "${CMAKE_CXX_COMPILER_VERSION}; kernels are made recordable by clang 19: set CMAKE_CXX_COMPILER to clang++-19")
  endif()

  # Before a launcher that is there already, such as ccache, which then sees what mneme-inject adds.
  foreach(launcher CXX_COMPILER_LAUNCHER CXX_LINKER_LAUNCHER HIP_COMPILER_LAUNCHER HIP_LINKER_LAUNCHER
      CUDA_COMPILER_LAUNCHER CUDA_LINKER_LAUNCHER)
    get_target_property(present ${target} ${launcher})
    if(NOT present)
      set(present)
    endif()
    list(PREPEND present "${MNEME_INJECT}")
    set_target_properties(${target} PROPERTIES ${launcher} "${present}")
  endforeach()
  target_link_libraries(${target} PRIVATE mnemert)

  # sm_90 is NVIDIA's; CMake says 90, 90-real or 90-virtual.
  set(cuda ${ARG_OFFLOAD_ARCH})
  list(FILTER cuda INCLUDE REGEX "^sm_")
  if(NOT cuda)
    string(REGEX MATCHALL "[0-9]+a?" cuda "${CMAKE_CUDA_ARCHITECTURES}")
    list(TRANSFORM cuda PREPEND sm_)
  endif()
  list(TRANSFORM cuda PREPEND "--offload-arch=")
  set(hip ${ARG_OFFLOAD_ARCH})
  list(FILTER hip EXCLUDE REGEX "^sm_")
  if(NOT hip)
    set(hip ${CMAKE_HIP_ARCHITECTURES})
  endif()
  list(TRANSFORM hip PREPEND "--offload-arch=")

  mneme_compile_sources(${target} hip hip "${hip}" has_hip)
  if(has_hip)
    target_link_options(${target} PRIVATE --hip-link ${hip})
  endif()
  mneme_compile_sources(${target} cu cuda "${cuda}" has_cuda)
  if(has_cuda)
    execute_process(COMMAND "${MNEME_INJECT}" --print-flags link cuda
      OUTPUT_VARIABLE flags ERROR_VARIABLE error RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "add_mneme(${target}): ${error}")
    endif()
    separate_arguments(flags UNIX_COMMAND "${flags}")
    list(FILTER flags INCLUDE REGEX "^-L")
    list(TRANSFORM flags REPLACE "^-L" "" OUTPUT_VARIABLE folder)
    # By its path, so that CMake makes the program find it. Without one it is where the linker looks.
    target_link_libraries(${target} PRIVATE "$<IF:$<BOOL:${folder}>,${folder}/libcudart.so,cudart>")
  endif()
endfunction()
