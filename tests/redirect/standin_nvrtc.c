/* A library with the functions of NVRTC, and what can be seen of them from outside: for compute_XY there is
 * PTX, for sm_XY machine code too (here a few bytes), with -dlto neither. It compiles nothing: the PTX is
 * always the same kernel. Each compilation prints the options that arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_text.h"

struct program {
  int has_ptx;
  int has_code;
};

static const char kText[] = PTX_WHOLE;
static const char kCode[64] = "\177ELF machine code";

int nvrtcCreateProgram(struct program** program, const char* source, const char* name, int headers,
                       const char* const* header, const char* const* names) {
  (void)source, (void)name, (void)headers, (void)header, (void)names;
  *program = calloc(1, sizeof **program);
  return *program == NULL;
}

int nvrtcCompileProgram(struct program* program, int count, const char* const* options) {
  printf(NAME ":");
  for (int i = 0; i < count; ++i) printf(" %s", options[i]);
  puts("");
  program->has_ptx = 1, program->has_code = 0;
  for (int i = 0; i < count; ++i) {
    if (strstr(options[i], "sm_") != NULL) program->has_code = 1;
    if (strcmp(options[i], "-dlto") == 0) program->has_ptx = 0;
  }
  program->has_code &= program->has_ptx;
  return 0;
}

int nvrtcGetPTXSize(struct program* program, size_t* bytes) {
  *bytes = program->has_ptx ? sizeof kText : 1;
  return 0;
}

int nvrtcGetPTX(struct program* program, char* bytes) {
  memcpy(bytes, program->has_ptx ? kText : "", program->has_ptx ? sizeof kText : 1);
  return 0;
}

int nvrtcGetCUBINSize(struct program* program, size_t* bytes) {
  *bytes = program->has_code ? sizeof kCode : 0;
  return 0;
}

int nvrtcGetCUBIN(struct program* program, char* bytes) {
  if (program->has_code) memcpy(bytes, kCode, sizeof kCode);
  return 0;
}

int nvrtcDestroyProgram(struct program** program) {
  free(*program);
  *program = NULL;
  return 0;
}
