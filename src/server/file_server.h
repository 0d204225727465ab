// Serves one file over HTTP on loopback to one web page: what `culprit open` needs. Not a web
// server: no other file, no other address, nothing written.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit::server {

struct ServedFile {
  std::string path;
  // "/TOKEN/NAME": nobody who was not told it can ask for it; any user of the node reaches
  // loopback.
  std::string url_path;
  // The page that may read it, "https://ui.perfetto.dev": scheme, host and port, no path.
  std::string origin;
  std::uint16_t port = 0;  // 0: any that is free
};

// Serves until the file has been fetched whole (true) or *stop is set (false). `ready` is called
// once, with the port. Errors: the file cannot be read, the port is taken.
[[nodiscard]] Result<bool> ServeFile(const ServedFile& file,
                                     const std::function<void(std::uint16_t)>& ready,
                                     const std::atomic<bool>& stop);

// True when somebody listens on this port of 127.0.0.1 already.
bool PortIsTaken(std::uint16_t port);

// The name of a file as a path component that needs no escapes anywhere: letters, digits, '.', '-'
// and
// '_' stay, all else becomes '_'.
std::string SafeUrlName(std::string_view path);

// 128 random bits in hexadecimal.
[[nodiscard]] Result<std::string> RandomToken();

// "https://host:port" of an address with or without a path; an Error for what is none.
[[nodiscard]] Result<std::string> OriginOf(std::string_view address);

}  // namespace culprit::server
