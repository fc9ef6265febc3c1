# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# add_mneme(target [OFFLOAD_ARCH gfx90a …]): makes the HIP kernels of a target recordable. Its compiler, which has to be
# clang 19, is run through mneme-inject. Sources named .hip are compiled as HIP by the C++ compiler, for the processors
# given (or those in CMAKE_HIP_ARCHITECTURES, or clang's default), unless the project says how itself by setting
# their LANGUAGE or enabling the language HIP. The target may include mneme/MnemeAnnotation.hpp and,
# from C, mneme/annotate.h.
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
  foreach(launcher CXX_COMPILER_LAUNCHER CXX_LINKER_LAUNCHER HIP_COMPILER_LAUNCHER HIP_LINKER_LAUNCHER)
    get_target_property(present ${target} ${launcher})
    if(NOT present)
      set(present)
    endif()
    list(PREPEND present "${MNEME_INJECT}")
    set_target_properties(${target} PROPERTIES ${launcher} "${present}")
  endforeach()
  target_link_libraries(${target} PRIVATE mnemert)

  set(architectures ${ARG_OFFLOAD_ARCH})
  if(NOT architectures)
    set(architectures ${CMAKE_HIP_ARCHITECTURES})
  endif()
  list(TRANSFORM architectures PREPEND "--offload-arch=")
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(has_hip FALSE)
  foreach(source ${sources})
    get_filename_component(source "${source}" ABSOLUTE BASE_DIR "${folder}")
    if(CMAKE_HIP_COMPILER OR NOT source MATCHES "\\.hip$")
      continue()
    endif()
    get_source_file_property(language "${source}" TARGET_DIRECTORY ${target} LANGUAGE)
    if(language)
      continue()
    endif()
    set(has_hip TRUE)
    set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
    set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS -x hip ${architectures})
  endforeach()
  if(has_hip)
    target_link_options(${target} PRIVATE --hip-link ${architectures})
  endif()
endfunction()
