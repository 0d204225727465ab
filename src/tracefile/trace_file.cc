#include "tracefile/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "tracefile/fields.h"
#include "tracefile/inflate.h"
#include "tracefile/packet_walker.h"
#include "tracefile/proto_reader.h"

namespace culprit::tracefile {
namespace {

constexpr std::string_view kSupported =
    "culprit loads traces in Perfetto's format (as `culprit record` writes them), the text of "
    "ftrace and Chrome's JSON";

struct OtherFile {
  std::size_t offset;
  std::string_view magic;
  std::string_view what;
  std::string_view remedy;
};

// Files that people have at hand and that are no such trace; the first match counts.
constexpr OtherFile kOtherFiles[] = {
    {0, "PERFILE2", "a perf.data file", "print it with `perf script` and load the text"},
    {0, "\x17\x08\x44tracing", "a trace.dat file of trace-cmd",
     "print it with `trace-cmd report -t` and load the text"},
    {8, "DUCK", "a DuckDB database", "query it as it is: culprit query FILE.duckdb"},
    {0, "SQLite format 3", "an SQLite database", kSupported},
    {0,
     "\x7f"
     "ELF",
     "a program or library", kSupported},
    {0, "PK\x03\x04", "a zip archive", "unpack it and load the trace inside"},
    {0,
     "\xfd"
     "7zXZ",
     "an xz-compressed file", "unpack it with xz -d"},
    {0, "BZh", "a bzip2-compressed file", "unpack it with bunzip2"},
};

// Whether a line reads as the kernel prints an event: "COMM-TID ... [CPU] ... SECONDS: EVENT: ...",
// or as a heading of such a file.
bool LooksLikeFtraceLine(std::string_view line) {
  if (line.starts_with("# tracer:") || line.starts_with("CPU:")) return true;
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::size_t blank = line.rfind(' ', colon);
  if (blank == std::string_view::npos) return false;
  const std::string_view time = line.substr(blank + 1, colon - blank - 1);
  const std::size_t dot = time.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 4 < time.size() &&
         std::all_of(time.begin(), time.end(),
                     [](char c) { return c == '.' || (c >= '0' && c <= '9'); }) &&
         line.substr(0, blank).find('[') != std::string_view::npos;
}

bool LooksLikeFtraceText(std::string_view bytes) {
  constexpr std::size_t kLookedAt = 16384;
  const std::string_view start = bytes.substr(0, kLookedAt);
  if (start.find('\0') != std::string_view::npos) return false;
  for (const std::string_view line : SplitLines(start)) {
    if (LooksLikeFtraceLine(line)) return true;
  }
  return false;
}

// An array of objects or an object, after blanks or a byte order mark.
bool LooksLikeJson(std::string_view bytes) {
  static constexpr std::string_view kBlanks = " \t\r\n\xEF\xBB\xBF";
  const auto next = [&bytes] {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(kBlanks), bytes.size()));
    const char c = bytes.empty() ? '\0' : bytes.front();
    if (!bytes.empty()) bytes.remove_prefix(1);
    return c;
  };
  const char first = next();
  if (first == '{') {
    const char second = next();
    return second == '"' || second == '}';
  }
  if (first != '[') return false;
  const char second = next();
  return second == '{' || second == ']';
}

// Whether `packet` is compressed packets, and how.
std::optional<std::pair<Compression, std::string_view>> CompressedBody(std::string_view packet) {
  ProtoReader fields(packet);
  while (fields.Next()) {
    if (fields.id() == TracePacket::kCompressedPackets) {
      return std::pair(Compression::kZlib, fields.bytes());
    }
    if (fields.id() == TracePacket::kZstdCompressedPackets) {
      return std::pair(Compression::kZstd, fields.bytes());
    }
    if (fields.id() == TracePacket::kFtraceEvents) break;
  }
  return std::nullopt;
}

bool HasCompressedPackets(std::string_view trace) {
  PacketWalker walker(trace);
  while (walker.Next()) {
    if (CompressedBody(walker.packet()).has_value()) return true;
  }
  return false;
}

std::string TemporaryDirectory() {
  const char* set = std::getenv("TMPDIR");
  if (set != nullptr && *set != '\0') return set;
  return PathExists("/var/tmp") ? "/var/tmp" : "/tmp";
}

// Writes the trace anew with every compressed packet replaced by what is in it; returns whether all
// of it could be read.
Result<bool> ExpandPackets(std::string_view trace, int out) {
  PacketWalker walker(trace);
  bool whole = true;
  std::size_t written = 0;
  std::size_t before = 0;
  while (walker.Next()) {
    const auto compressed = CompressedBody(walker.packet());
    if (compressed.has_value()) {
      CULPRIT_TRY(WriteAll(out, trace.substr(written, before - written), "the expanded trace"));
      CULPRIT_ASSIGN(const bool this_whole, InflateTo(compressed->first, compressed->second, out));
      whole = whole && this_whole;
      written = walker.position();
    }
    before = walker.position();
  }
  CULPRIT_TRY(WriteAll(out, trace.substr(written), "the expanded trace"));
  return whole;
}

}  // namespace

Result<TraceFormat> DetectFormat(std::string_view bytes, std::string_view path) {
  const std::string name(path);
  if (bytes.empty()) return Error{name + ": the file is empty", "record again"};
  for (const OtherFile& other : kOtherFiles) {
    if (bytes.size() >= other.offset && bytes.substr(other.offset).starts_with(other.magic)) {
      return Error{name + ": this is " + std::string(other.what) + ", not a trace",
                   std::string(other.remedy)};
    }
  }
  // A newline is also how a protobuf Trace begins, so that is looked for first then.
  if (bytes.front() != '\n' && LooksLikeJson(bytes)) return TraceFormat::kChromeJson;
  PacketWalker walker(bytes);
  if (walker.Next() && walker.skipped_bytes() < bytes.size() / 2) {
    ProtoReader fields(walker.packet());
    int known = 0;
    while (fields.Next()) {
      if (fields.id() <= TracePacket::kZstdCompressedPackets) ++known;
    }
    if (fields.ok() && (known > 0 || walker.packet().empty())) return TraceFormat::kPerfetto;
  }
  if (LooksLikeJson(bytes)) return TraceFormat::kChromeJson;
  if (LooksLikeFtraceText(bytes)) return TraceFormat::kFtraceText;
  // One packet only, and that one cut off: still a trace, of which nothing is left.
  if (bytes.front() == '\x0a' && !walker.Next() && walker.is_cut() && bytes.size() > 2) {
    std::uint64_t size;
    const char* body = ReadVarint(bytes.data() + 1, bytes.data() + bytes.size(), size);
    if (body != nullptr && size > bytes.size()) return TraceFormat::kPerfetto;
  }
  return Error{name + ": not a trace", std::string(kSupported)};
}

Result<TraceFile> TraceFile::OfBytes(std::string_view bytes) {
  CULPRIT_ASSIGN(const TraceFormat format, DetectFormat(bytes, "input"));
  CULPRIT_ASSIGN(MappedFile nothing, MappedFile::Open("/dev/null"));
  TraceFile file(std::move(nothing), bytes);
  file.format_ = format;
  file.file_bytes_ = bytes.size();
  return file;
}

Result<TraceFile> TraceFile::Open(const std::string& path) {
  CULPRIT_ASSIGN(UniqueFd fd, OpenFile(path, O_RDONLY));
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return ErrnoError("stat", path, errno);
  if (S_ISDIR(status.st_mode)) return Error{path + ": a directory, not a trace", "name a file"};
  CULPRIT_ASSIGN(MappedFile mapping, MappedFile::OfFd(fd.get(), path));
  const std::uint64_t file_bytes = mapping.text().size();

  bool is_cut = false;
  const Compression wrapped = DetectCompression(mapping.text());
  if (wrapped != Compression::kNone) {
    CULPRIT_ASSIGN(UniqueFd unpacked, OpenNamelessFile(TemporaryDirectory()));
    CULPRIT_ASSIGN(const bool whole, InflateTo(wrapped, mapping.text(), unpacked.get()));
    is_cut = !whole;
    CULPRIT_ASSIGN(mapping, MappedFile::OfFd(unpacked.get(), path));
    if (mapping.text().empty()) {
      return Error{path + ": the compressed file is cut off or damaged at its start",
                   "copy it again"};
    }
  }
  CULPRIT_ASSIGN(const TraceFormat format, DetectFormat(mapping.text(), path));
  if (format == TraceFormat::kPerfetto && HasCompressedPackets(mapping.text())) {
    CULPRIT_ASSIGN(UniqueFd expanded, OpenNamelessFile(TemporaryDirectory()));
    CULPRIT_ASSIGN(const bool whole, ExpandPackets(mapping.text(), expanded.get()));
    is_cut = is_cut || !whole;
    CULPRIT_ASSIGN(mapping, MappedFile::OfFd(expanded.get(), path));
  }
  TraceFile file(std::move(mapping));
  file.format_ = format;
  file.file_bytes_ = file_bytes;
  file.is_cut_ = is_cut;
  return file;
}

}  // namespace culprit::tracefile
