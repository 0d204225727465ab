#include "stat/pfm_names.h"

#include <dlfcn.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

namespace culprit::stat {
namespace {

struct Library {
  decltype(&pfm_initialize) initialize = nullptr;
  decltype(&pfm_get_os_event_encoding) encode = nullptr;
  decltype(&pfm_strerror) message = nullptr;
};

Result<Library> Load() {
  // Not closed again: it is needed until the end, and the system has it mapped once.
  void* handle = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Error{"libpfm4, which knows the processors' own event names, is not here",
                 "apt install libpfm4, or give the event as cpu/event=...,umask=.../"};
  }
  Library library;
  library.initialize =
      reinterpret_cast<decltype(library.initialize)>(dlsym(handle, "pfm_initialize"));
  library.encode =
      reinterpret_cast<decltype(library.encode)>(dlsym(handle, "pfm_get_os_event_encoding"));
  library.message = reinterpret_cast<decltype(library.message)>(dlsym(handle, "pfm_strerror"));
  if (library.initialize == nullptr || library.encode == nullptr || library.message == nullptr) {
    return Error{"libpfm.so.4 lacks a function", "install libpfm4 4.13 or newer"};
  }
  return library;
}

}  // namespace

Result<Event> FindPfmEvent(const std::string& name) {
  CULPRIT_ASSIGN(const Library library, Load());
  int status = library.initialize();
  if (status != PFM_SUCCESS) {
    return Error{"libpfm4 does not start: " + std::string(library.message(status)),
                 "give the event as cpu/event=...,umask=.../"};
  }
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  pfm_perf_encode_arg_t argument{};
  argument.attr = &attributes;
  argument.size = sizeof(argument);
  status = library.encode(name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
  if (status != PFM_SUCCESS) {
    return Error{"libpfm4 knows no such event on this CPU: " + std::string(library.message(status)),
                 "see perf list, or /sys/bus/event_source/devices/*/events"};
  }
  Event event;
  event.name = name;
  event.type = attributes.type;
  event.config = attributes.config;
  event.config1 = attributes.config1;
  event.config2 = attributes.config2;
  event.exclude_user = attributes.exclude_user != 0;
  event.exclude_kernel = attributes.exclude_kernel != 0;
  return event;
}

}  // namespace culprit::stat
