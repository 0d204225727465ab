#include "lab/shared.h"

#include <time.h>

#include <algorithm>

namespace culprit::lab {

SharedMutex::SharedMutex(bool inherit) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (inherit) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

SharedCondition::SharedCondition() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition_, &attributes);
  pthread_condattr_destroy(&attributes);
}

void SharedCondition::WaitInWindow(SharedMutex& mutex, Actor& actor) {
  const std::int64_t until =
      std::min(MonotonicNs() + Milliseconds(500).value, actor.board().end_ns.load());
  const timespec wake{until / 1'000'000'000, until % 1'000'000'000};
  pthread_cond_timedwait(&condition_, mutex.native(), &wake);
}

bool BatchQueue::Push(Actor& producer) {
  mutex_.Lock();
  while (size_ == kCapacity && producer.Acting()) room_.WaitInWindow(mutex_, producer);
  const bool room = size_ < kCapacity;
  if (room) {
    batches_[(head_ + size_) % kCapacity] = producer.index();
    ++size_;
    items_.SignalOne();
  }
  mutex_.Unlock();
  return room;
}

int BatchQueue::Pop(Actor& consumer) {
  mutex_.Lock();
  while (size_ == 0 && consumer.Acting()) items_.WaitInWindow(mutex_, consumer);
  int producer = -1;
  if (size_ > 0) {
    producer = batches_[head_];
    head_ = (head_ + 1) % kCapacity;
    --size_;
    room_.SignalOne();
  }
  mutex_.Unlock();
  return producer;
}

}  // namespace culprit::lab
