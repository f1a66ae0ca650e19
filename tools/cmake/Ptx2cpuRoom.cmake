# ptx2cpu_room(NAME [DIR sub] [ROOMS sub...] [DEPENDS libs...] [EXCLUDE regex] [PRECOMPILE headers...]): one static library from the
# *.cpp of a folder and of the named folders in it. PRECOMPILE: headers that nearly all of its sources read. Headers take two thirds of
# a source's time; precompiled, they are read once for a room. Each source still includes what it uses (tools/check-tidy).
# Every room compiles with the same warnings and sees includes as "room/file.h" from the root.
add_library(ptx2cpu_options INTERFACE)
target_include_directories(ptx2cpu_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
target_compile_options(ptx2cpu_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-unused-parameter -fno-omit-frame-pointer>)
if(PTX2CPU_SANITIZE)
  target_compile_options(ptx2cpu_options INTERFACE -fsanitize=${PTX2CPU_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(ptx2cpu_options INTERFACE -fsanitize=${PTX2CPU_SANITIZE})
endif()
if(PTX2CPU_FUZZ)
  # Every room is instrumented, or the fuzzer runs blind; only the fuzz targets get libFuzzer's main.
  target_compile_options(ptx2cpu_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ptx2cpu_precompile(TARGET header...). Clang must not compare the headers' times with those it saw: a file that ccache kept has the
# times of another checkout.
function(ptx2cpu_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>)
  endif()
endfunction()
# Headers of the libraries that most sources of the compiler's rooms read.
set(ptx2cpu_plain_headers <algorithm> <functional> <map> <optional> <span> <string> <unordered_map> <vector> <fmt/format.h>)

# ptx2cpu_unite(TARGET source...), with PTX2CPU_UNITE: compiles sources of a room below that have no name in common as one, so that
# headers, templates and code of the libraries are compiled once for all of them. Compiling these rooms takes longer than their tests
# save by optimisation.
set(ptx2cpu_united ptx2cpu_ir ptx2cpu_analysis ptx2cpu_parse ptx2cpu_match ptx2cpu_translate ptx2cpu_passes ptx2cpu_compile ptx2cpu_codegen
  ptx2cpu_harness ptx2cpu_compiled_harness test_ir test_analysis test_match test_outline test_translate test_passes test_llvm)
function(ptx2cpu_unite target)
  if(NOT PTX2CPU_UNITE OR NOT target IN_LIST ptx2cpu_united)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/cmake/unity_groups.awk)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  execute_process(COMMAND awk -v most=20 -f ${script} ${ARGN}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" groups "${groups}")
  foreach(line IN LISTS groups)
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

function(ptx2cpu_room name)
  cmake_parse_arguments(ROOM "" "DIR;EXCLUDE" "ROOMS;DEPENDS;PRECOMPILE" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR})
  if(ROOM_DIR)
    set(dir ${dir}/${ROOM_DIR})
  endif()
  set(globs ${dir}/*.cpp)
  foreach(room ${ROOM_ROOMS})
    list(APPEND globs ${dir}/${room}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${globs})
  if(ROOM_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${ROOM_EXCLUDE})
  endif()
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ptx2cpu_options ${ROOM_DEPENDS})
  else()
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ptx2cpu_options ${ROOM_DEPENDS})
    if(ROOM_PRECOMPILE)
      ptx2cpu_precompile(${name} ${ROOM_PRECOMPILE})
    endif()
    ptx2cpu_unite(${name} ${sources})
  endif()
endfunction()
