/* opener LIBRARY WORD: opens the library and calls its main with the word. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* library = argc < 2 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int (*library_main)(int, char**) = library == NULL ? NULL : (int (*)(int, char**))dlsym(library, "main");
  if (library_main == NULL) return puts(library == NULL ? dlerror() : "no main"), 2;
  return library_main(argc - 1, argv + 1);
}
