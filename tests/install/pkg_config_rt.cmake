# A C program that launches a block function, without LLVM.
include(${SOURCE}/pkg_config.cmake)
package_flags(ptx2cpu-rt flags)
execute_process(COMMAND ${C_COMPILER} -std=c11 ${SANITIZE} ${SOURCE}/consumer_c/launch_block.c -o ${WORK}/launch_block ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/launch_block COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ldd ${WORK}/launch_block OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "LLVM")
  message(FATAL_ERROR "the launch library needs LLVM:\n${libraries}")
endif()
