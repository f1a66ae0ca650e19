/* A library with the functions of nvJitLink under the names of its version 12.0. It links nothing: with -ptx
 * there is always the same PTX, without it a few bytes of machine code. It prints what reaches it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_text.h"

#define NAMED(FUNCTION) __nvJitLink##FUNCTION##_12_0

struct link {
  int to_ptx;
};

static const char kText[] = PTX_WHOLE;
static const char kCode[64] = "\177ELF machine code";

int NAMED(Create)(struct link** link, uint32_t count, const char** options) {
  *link = calloc(1, sizeof **link);
  printf("link:");
  for (uint32_t i = 0; i < count; ++i) {
    printf(" %s", options[i]);
    (*link)->to_ptx |= strcmp(options[i], "-ptx") == 0;
  }
  puts("");
  return 0;
}
int NAMED(Destroy)(struct link** link) {
  free(*link);
  *link = NULL;
  return 0;
}
int NAMED(AddData)(struct link* link, int type, const void* data, size_t bytes, const char* name) {
  (void)link, (void)data, (void)bytes;
  printf("linker reads %s of type %d\n", name, type);
  return 0;
}
int NAMED(AddFile)(struct link* link, int type, const char* file) {
  (void)link;
  printf("linker reads file %s of type %d\n", file, type);
  return 0;
}
int NAMED(Complete)(struct link* link) {
  (void)link;
  puts("linker links");
  return 0;
}
int NAMED(GetLinkedCubinSize)(struct link* link, size_t* bytes) {
  *bytes = sizeof kCode;
  return link->to_ptx ? 6 : 0;
}
int NAMED(GetLinkedCubin)(struct link* link, void* bytes) {
  memcpy(bytes, kCode, sizeof kCode);
  return link->to_ptx ? 6 : 0;
}
int NAMED(GetLinkedPtxSize)(struct link* link, size_t* bytes) {
  *bytes = sizeof kText;
  return link->to_ptx ? 0 : 3;
}
int NAMED(GetLinkedPtx)(struct link* link, char* bytes) {
  memcpy(bytes, kText, sizeof kText);
  return link->to_ptx ? 0 : 3;
}
