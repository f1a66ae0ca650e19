/* Links with nvJitLink, takes the machine code and runs it. The first word selects the inputs: "ptx", two
 * texts; "file", the second of them in a file; "lto". The other words are the linker's options. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_text.h"
#include "run_on_driver.h"

struct link;
extern int __nvJitLinkCreate_12_0(struct link**, uint32_t, const char**);
extern int __nvJitLinkDestroy_12_0(struct link**);
extern int __nvJitLinkAddData_12_0(struct link*, int, const void*, size_t, const char*);
extern int __nvJitLinkAddFile_12_0(struct link*, int, const char*);
extern int __nvJitLinkComplete_12_0(struct link*);
extern int __nvJitLinkGetLinkedCubinSize_12_0(struct link*, size_t*);
extern int __nvJitLinkGetLinkedCubin_12_0(struct link*, void*);

enum { kPtx = 2, kLto = 3, kAny = 10 };

int main(int count, char** words) {
  static const char lto[32] = "\355CN\177 of NVIDIA's";
  struct link* link;
  size_t bytes = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count < 2) return 20;
  if (__nvJitLinkCreate_12_0(&link, (uint32_t)count - 2, (const char**)words + 2) != 0) return 10;
  int added;
  if (strcmp(words[1], "ptx") == 0) {
    added = __nvJitLinkAddData_12_0(link, kPtx, PTX_CALLER, sizeof PTX_CALLER, "caller") +
            __nvJitLinkAddData_12_0(link, kAny, PTX_CALLEE, strlen(PTX_CALLEE), NULL);
  } else if (strcmp(words[1], "file") == 0) {
    FILE* file = fopen("redirect_callee.ptx", "w");
    fputs(PTX_CALLEE, file);
    fclose(file);
    added = __nvJitLinkAddData_12_0(link, kPtx, PTX_CALLER, sizeof PTX_CALLER, "caller") +
            __nvJitLinkAddFile_12_0(link, kPtx, "redirect_callee.ptx");
    remove("redirect_callee.ptx");
  } else {
    added = __nvJitLinkAddData_12_0(link, kLto, lto, sizeof lto, "intermediate");
  }
  if (added != 0) return 11;
  if (__nvJitLinkComplete_12_0(link) != 0) return 12;
  if (__nvJitLinkGetLinkedCubinSize_12_0(link, &bytes) != 0) return 13;
  char* image = malloc(bytes);
  if (__nvJitLinkGetLinkedCubin_12_0(link, image) != 0) return 14;
  if (__nvJitLinkDestroy_12_0(&link) != 0) return 15;
  printf("result %d\n", RunOnDriver(image));
  free(image);
  return 0;
}
