# ptx2cpu_room(NAME [TOGETHER] [DIR sub] [ROOMS sub...] [DEPENDS libs...] [EXCLUDE regex]): one static library from the *.cpp of a
# folder and of the named folders in it. TOGETHER: names of its files' own differ, so that PTX2CPU_UNITY may join sources.
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

# Most of the time of a unit goes into the headers of the standard library, fmt and LLVM. Sources of one target that are compiled
# together read them once: a change of a header of ir costs less than half of the processor time.
set(PTX2CPU_UNITY 0 CACHE STRING "How many sources of a room are compiled together; 0: each on its own")
function(ptx2cpu_together target)
  if(PTX2CPU_UNITY GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PTX2CPU_UNITY})
  endif()
endfunction()

function(ptx2cpu_room name)
  cmake_parse_arguments(ROOM "TOGETHER" "DIR;EXCLUDE" "ROOMS;DEPENDS" ${ARGN})
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
    if(ROOM_TOGETHER)
      ptx2cpu_together(${name})
    endif()
  endif()
endfunction()
