// What the module culprit_http exports. It is loaded when a file is served: the HTTP library and
// those that it needs would otherwise cost every run of the program 10 ms.
#pragma once

#include "server/file_server.h"

namespace culprit::server {

inline constexpr const char* kHttpModule = "libculprit_http.so";
inline constexpr const char* kServeFileSymbol = "CulpritServeFile";

// Writes what ServeFile returns to `outcome`.
using ServeFileFunction = void (*)(const ServedFile& file,
                                   const std::function<void(std::uint16_t)>& ready,
                                   const std::atomic<bool>& stop, Result<bool>& outcome);

}  // namespace culprit::server
