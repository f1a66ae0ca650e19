/* Opens a library twice, with nothing of it left in between, and calls its function `run` each time. Linked
 * to no CUDA. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** words) {
  if (count < 2) return 20;
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      puts(dlerror());
      return 21;
    }
    int (*run)(void) = (int (*)(void))dlsym(library, "run");
    if (run == NULL) return 22;
    const int code = run();
    if (code != 0) return code;
    dlclose(library);
  }
  puts("opened twice");
  return 0;
}
