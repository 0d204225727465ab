#include "server/file_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "base/file.h"

namespace culprit::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

UniqueFd Connect(std::uint16_t port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected =
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  EXPECT_TRUE(connected);
  return fd;
}

std::string Ask(std::uint16_t port, const std::string& request) {
  const UniqueFd fd = Connect(port);
  EXPECT_EQ(write(fd.get(), request.data(), request.size()), static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[65536];
  for (ssize_t got = 0; (got = read(fd.get(), buffer, sizeof buffer)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  return answer;
}

// A file served in a thread of its own until the test ends.
class Serving {
 public:
  explicit Serving(std::string content) : content_(std::move(content)) {
    file_.path = testing::TempDir() + "culprit_served_" + std::to_string(getpid());
    std::ofstream(file_.path) << content_;
    file_.url_path = "/token/a.trace";
    file_.origin = "https://ui.perfetto.dev";
    thread_ = std::thread([this] {
      outcome_ = ServeFile(
          file_, [this](std::uint16_t got) { port_.set_value(got); }, stop_);
      if (!outcome_.ok()) port_.set_value(0);
    });
    port = port_.get_future().get();
    EXPECT_NE(port, 0) << (outcome_.ok() ? "" : outcome_.error().ToString());
  }
  ~Serving() {
    if (thread_.joinable()) (void)End();
    unlink(file_.path.c_str());
  }

  // Stops it; true when the file had been fetched.
  bool End() {
    stop_ = true;
    thread_.join();
    return outcome_.ok() && *outcome_;
  }
  // Waits until it ends by itself.
  bool Wait() {
    thread_.join();
    return outcome_.ok() && *outcome_;
  }
  std::string Request(const std::string& method, const std::string& path,
                      const std::string& headers) const {
    return Ask(port, method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                         "\r\n" + headers + "\r\n");
  }

  std::uint16_t port = 0;

 private:
  std::string content_;
  ServedFile file_;
  std::promise<std::uint16_t> port_;
  std::atomic<bool> stop_ = false;
  Result<bool> outcome_ = false;
  std::thread thread_;
};

constexpr const char* kUi = "Origin: https://ui.perfetto.dev\r\n";

TEST(ServeFile, ThePageGetsTheFileAndThenItEnds) {
  std::string content(3'000'000, 'x');
  content += std::string("\0\r\nend", 6);
  Serving serving(content);
  const std::string answer = serving.Request("GET", "/token/a.trace", kUi);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  const auto body = answer.find("\r\n\r\n");
  ASSERT_NE(body, answer.npos);
  EXPECT_THAT(answer.substr(0, body),
              HasSubstr("Access-Control-Allow-Origin: https://ui.perfetto.dev"));
  EXPECT_THAT(answer.substr(0, body), HasSubstr("Content-Length: 3000006"));
  EXPECT_TRUE(answer.substr(body + 4) == content);
  EXPECT_TRUE(serving.Wait());
}

TEST(ServeFile, OtherPagesPathsAndHostsAreRefused) {
  Serving serving("secret");
  for (const std::string& answer :
       {serving.Request("GET", "/token/a.trace", "Origin: https://evil.example\r\n"),
        serving.Request("GET", "/token/a.trace", "Origin: null\r\n"),
        serving.Request("GET", "/a.trace", kUi), serving.Request("GET", "/token/../token/b", ""),
        serving.Request("GET", "/", kUi), serving.Request("POST", "/token/a.trace", kUi),
        serving.Request("DELETE", "/token/a.trace", kUi),
        Ask(serving.port, "GET /token/a.trace HTTP/1.1\r\nHost: evil.example:9001\r\n\r\n"),
        Ask(serving.port, "GET /token/a.trace HTTP/1.1\r\n\r\n"),
        Ask(serving.port, "nonsense\r\n\r\n"),
        Ask(serving.port, "GET " + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n")}) {
    EXPECT_THAT(answer, Not(HasSubstr("secret"))) << answer.substr(0, 200);
    EXPECT_THAT(answer, Not(StartsWith("HTTP/1.1 2"))) << answer.substr(0, 200);
    EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow-Origin: *"))) << answer.substr(0, 200);
  }
  EXPECT_FALSE(serving.End());
}

TEST(ServeFile, QuestionsAndPartsDoNotEndIt) {
  Serving serving("0123456789");
  const std::string preflight = serving.Request(
      "OPTIONS", "/token/a.trace",
      std::string(kUi) +
          "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n");
  EXPECT_THAT(preflight, StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(preflight, HasSubstr("Access-Control-Allow-Private-Network: true"));
  const std::string head = serving.Request("HEAD", "/token/a.trace", kUi);
  EXPECT_THAT(head, HasSubstr("Content-Length: 10"));
  EXPECT_THAT(head, Not(HasSubstr("0123456789")));
  const std::string part =
      serving.Request("GET", "/token/a.trace", std::string(kUi) + "Range: bytes=2-4\r\n");
  EXPECT_THAT(part, StartsWith("HTTP/1.1 206"));
  EXPECT_THAT(part, testing::EndsWith("\r\n\r\n234"));
  EXPECT_FALSE(serving.End());
}

TEST(ServeFile, AReaderThatGoesAwayDoesNotEndIt) {
  Serving serving(std::string(20'000'000, 'x'));
  {
    const UniqueFd fd = Connect(serving.port);
    const std::string request =
        "GET /token/a.trace HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(serving.port) +
        "\r\n\r\n";
    ASSERT_GT(write(fd.get(), request.data(), request.size()), 0);
    char some[100];
    ASSERT_GT(read(fd.get(), some, sizeof some), 0);
  }
  EXPECT_EQ(serving.Request("GET", "/token/a.trace", kUi).size() > 20'000'000, true);
  EXPECT_TRUE(serving.Wait());
}

TEST(ServeFile, WhatIsNoFileIsAnError) {
  const std::atomic<bool> stop = true;
  const auto folder = ServeFile(
      {"/", "/t/x", "https://ui.perfetto.dev", 0}, [](std::uint16_t) {}, stop);
  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().what, HasSubstr("is not a file"));
  const auto missing = ServeFile(
      {"/nowhere/x", "/t/x", "https://ui.perfetto.dev", 0}, [](std::uint16_t) {}, stop);
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().what, HasSubstr("/nowhere/x"));
}

TEST(PortIsTaken, TellsAListenerFromNone) {
  Serving serving("x");
  EXPECT_TRUE(PortIsTaken(serving.port));
  const std::uint16_t port = serving.port;
  (void)serving.End();
  EXPECT_FALSE(PortIsTaken(port));
}

TEST(SafeUrlName, HostileNamesBecomeHarmless) {
  EXPECT_EQ(SafeUrlName("dir/a-b_c.trace"), "a-b_c.trace");
  EXPECT_EQ(SafeUrlName("x/ü\"><script>&?#% .trace"), "_____script______.trace");
  EXPECT_EQ(SafeUrlName("a/.."), "trace");
  EXPECT_EQ(SafeUrlName("a/"), "trace");
  EXPECT_EQ(SafeUrlName("new\nline"), "new_line");
}

TEST(RandomToken, IsLongAndNew) {
  const auto one = RandomToken();
  const auto two = RandomToken();
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->size(), 32U);
  EXPECT_NE(*one, *two);
}

TEST(OriginOf, SchemeHostAndPort) {
  const auto origin = [](std::string_view address) {
    const auto result = OriginOf(address);
    return result.ok() ? *result : "error";
  };
  EXPECT_EQ(origin("https://ui.perfetto.dev"), "https://ui.perfetto.dev");
  EXPECT_EQ(origin("http://localhost:10000/#!/viewer"), "http://localhost:10000");
  EXPECT_EQ(origin("https://"), "error");
  EXPECT_EQ(origin("ui.perfetto.dev"), "error");
  EXPECT_EQ(origin("javascript://x"), "error");
  EXPECT_EQ(origin("https://a\r\nb"), "error");
}

}  // namespace
}  // namespace culprit::server
