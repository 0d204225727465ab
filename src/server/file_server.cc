#include "server/file_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/text.h"
#include "server/http/serve_file.h"

namespace culprit::server {

Result<bool> ServeFile(const ServedFile& file, const std::function<void(std::uint16_t)>& ready,
                       const std::atomic<bool>& stop) {
  // Stays loaded: unloading a library with threads of its own is asking for trouble.
  void* module = dlopen(kHttpModule, RTLD_NOW | RTLD_LOCAL);
  void* symbol = module == nullptr ? nullptr : dlsym(module, kServeFileSymbol);
  if (symbol == nullptr) {
    const char* reason = dlerror();
    return Error{
        "cannot load " + std::string(kHttpModule) + ": " + (reason == nullptr ? "?" : reason),
        "it belongs into lib/ beside bin/culprit; install culprit again"};
  }
  Result<bool> outcome = false;
  reinterpret_cast<ServeFileFunction>(symbol)(file, ready, stop, outcome);
  return outcome;
}

bool PortIsTaken(std::uint16_t port) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == EADDRINUSE;
}

std::string SafeUrlName(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        return !plain;
      },
      '_');
  // "." and ".." would be taken for folders.
  if (name.find_first_not_of('.') == name.npos) return "trace";
  return name;
}

Result<std::string> RandomToken() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return ErrnoError("getrandom", "", errno);
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token.push_back(kHex[byte >> 4]);
    token.push_back(kHex[byte & 15]);
  }
  return token;
}

Result<std::string> OriginOf(std::string_view address) {
  const Error bad{"not a web address: '" + SafeForTerminal(address) + "'",
                  "write one such as https://ui.perfetto.dev"};
  const auto scheme = address.find("://");
  if (scheme == address.npos) return bad;
  const std::string_view name = address.substr(0, scheme);
  const auto host = scheme + 3;
  const auto end = std::min(address.find_first_of("/?#", host), address.size());
  if ((name != "https" && name != "http") || end == host) return bad;
  for (const char c : address) {
    if (c <= ' ' || c == '"' || c == '<' || c == '>' || c == '@' || c == '\\' || c == 0x7f)
      return bad;
  }
  return std::string(address.substr(0, end));
}

}  // namespace culprit::server
