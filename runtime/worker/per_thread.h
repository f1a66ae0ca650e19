// An object for each thread that lasts as long as the thread can make calls. A thread_local of the main
// thread is destroyed when exit() begins, before exit handlers and destructors of static objects, which may
// call us.
#pragma once

#include <pthread.h>

namespace ptx2cpu::rt {

// `Tag` distinguishes objects of the same type.
template <typename T, typename Tag = T>
T& PerThread() {
  static thread_local T* object = nullptr;  // has no destructor
  if (object != nullptr) [[likely]]
    return *object;
  // Keys are destroyed where a thread ends, not where it calls exit().
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* ended) {
      delete static_cast<T*>(ended);
      object = nullptr;  // another key's destructor may call this again
    });
    return made;
  }();
  object = new T;
  pthread_setspecific(key, object);
  return *object;
}

}  // namespace ptx2cpu::rt
