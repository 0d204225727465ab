// Objects in memory that all processes of a scenario share: any plain type, a mutex, a condition, a
// bounded queue. Whoever dies with a lock held leaves it held: the lab ends them all together.
#pragma once

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <new>

#include "base/result.h"
#include "lab/actor.h"

namespace culprit::lab {

// Lives until the last process that has it ends; never destroyed, so T has nothing to release.
template <class T>
Result<T*> MakeShared() {
  void* memory =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoError("map", "memory for the scenario", errno);
  return new (memory) T;
}

class SharedMutex {
 public:
  // With `inherit` the holder runs at the priority of the most urgent waiter.
  explicit SharedMutex(bool inherit = false);
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }
  pthread_mutex_t* native() { return &mutex_; }

 private:
  pthread_mutex_t mutex_;
};

class SharedCondition {
 public:
  SharedCondition();
  void Wait(SharedMutex& mutex) { pthread_cond_wait(&condition_, mutex.native()); }
  // Returns at the end of the actor's window, too; in steps, since a signal can end it early.
  void WaitInWindow(SharedMutex& mutex, Actor& actor);
  void SignalOne() { pthread_cond_signal(&condition_); }
  void SignalAll() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

// The pinned queue of a data loader: batches are the slot numbers of who made them.
class BatchQueue {
 public:
  static constexpr std::uint32_t kCapacity = 4;
  // False when the window ended first.
  bool Push(Actor& producer);
  // The producer's slot number; -1 when the window ended first.
  int Pop(Actor& consumer);

 private:
  SharedMutex mutex_;
  SharedCondition items_, room_;
  std::int32_t batches_[kCapacity] = {};
  std::uint32_t head_ = 0, size_ = 0;
};

}  // namespace culprit::lab
