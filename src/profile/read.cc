#include "profile/read.h"

#include <sys/mman.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "profile/perf_data/reader.h"

namespace culprit::profile {
namespace {

constexpr std::size_t kHeadBytes = 64 * 1024;
// What a small file can unpack to is limited: an archive bomb is no profile.
constexpr std::size_t kLargestUnpacked = std::size_t{8} << 30;

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Up to `max_bytes` of the unpacked text; what a cut-off file still gives, it gives.
Result<std::string> Gunzip(std::string_view bytes, std::size_t max_bytes, bool& cut) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return Error{"zlib did not start", ""};
  std::string out;
  std::vector<char> block(256 * 1024);
  stream.next_in = reinterpret_cast<Bytef*>(
      const_cast<char*>(bytes.data()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  std::size_t left = bytes.size();
  int status = Z_OK;
  while (status == Z_OK && out.size() < max_bytes) {
    if (stream.avail_in == 0) {
      if (left == 0) break;
      stream.avail_in = static_cast<uInt>(std::min<std::size_t>(left, 1U << 30U));
      left -= stream.avail_in;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(block.data(), block.size() - stream.avail_out);
    // Several gzip files one after the other are one.
    if (status == Z_STREAM_END && stream.avail_in + left > 0) status = inflateReset(&stream);
  }
  inflateEnd(&stream);
  cut = status != Z_STREAM_END;
  if (out.size() > max_bytes) out.resize(max_bytes);
  if (out.empty() && cut) return Error{"the gzip data is damaged", ""};
  return out;
}

std::string_view SkipSpace(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

// Names may have control characters in them; binary formats have zeros, or many.
bool IsText(std::string_view head) {
  const auto odd = std::ranges::count_if(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\t' && c != '\r';
  });
  return head.find('\0') == std::string_view::npos &&
         static_cast<std::size_t>(odd) * 16 <= head.size();
}

Format DetectText(std::string_view head) {
  // What the head holds whole, of lines; the last may be cut.
  std::vector<std::string_view> lines = SplitLines(head);
  if (lines.size() > 1) lines.pop_back();
  std::string sample;
  for (const std::string_view line : lines) sample.append(line) += '\n';
  // A folded line can look like a header of perf script ("a 1 b: 2"), never the other way round.
  std::size_t folded = 0;
  std::size_t other = 0;
  for (const std::string_view line : lines) {
    if (TrimBlanks(line).empty() || line.starts_with('#')) continue;
    const std::size_t blank = line.find_last_of(" \t");
    const bool counted =
        blank != std::string_view::npos && ParseNumber(TrimBlanks(line.substr(blank + 1)));
    ++(counted ? folded : other);
  }
  if (folded > 0 && other == 0) return Format::kFolded;
  const auto script = ReadPerfScript(sample);
  if (script.ok() && std::ranges::any_of(script->samples, [](const Sample& sample_of_text) {
        return sample_of_text.stack != 0;
      })) {
    return Format::kPerfScript;
  }
  return folded > 10 * other ? Format::kFolded : Format::kUnknown;
}

// A pprof file that is not compressed: a message whose first fields are sample_type (1), sample
// (2), mapping (3) ... with sane lengths. A Perfetto trace begins with field 1, too, so the first
// one has to be a ValueType: two small varints.
bool IsPprof(std::string_view head) {
  if (head.size() < 4 || head[0] != '\x0a') return false;
  const auto size = static_cast<unsigned char>(head[1]);
  if (size > 24 || size + 2U > head.size()) return false;
  std::string_view value = head.substr(2, size);
  unsigned fields = 0;
  while (!value.empty()) {
    if (value[0] != '\x08' && value[0] != '\x10') return false;
    value.remove_prefix(1);
    std::size_t used = 0;
    while (used < value.size() && (static_cast<unsigned char>(value[used]) & 0x80U) != 0) ++used;
    if (used >= value.size() || used > 4) return false;
    value.remove_prefix(used + 1);
    ++fields;
  }
  return fields >= 1 && fields <= 2;
}

struct Input {
  std::optional<MappedFile> file;  // nothing: what follows is all of standard input
  std::string unpacked;
  bool packed = false;
  bool cut = false;
  std::string_view bytes() const { return packed ? std::string_view(unpacked) : file->text(); }
};

// "-" is standard input, which can be read once only.
Result<Input> OpenInput(const std::string& path, std::size_t max_bytes) {
  Input input;
  if (path == "-") {
    input.packed = true;
    CULPRIT_ASSIGN(input.unpacked, ReadFile("/dev/stdin", kLargestUnpacked));
    if (!IsGzip(input.unpacked)) return input;
    auto unpacked = Gunzip(input.unpacked, kLargestUnpacked, input.cut);
    if (!unpacked.ok()) return Error{"standard input: " + unpacked.error().what, ""};
    input.unpacked = std::move(unpacked).value();
    return input;
  }
  CULPRIT_ASSIGN(input.file, MappedFile::Open(path));
  if (!IsGzip(input.file->text())) return input;
  input.packed = true;
  auto unpacked = Gunzip(input.file->text(), max_bytes, input.cut);
  if (!unpacked.ok()) return Error{path + ": " + unpacked.error().what, ""};
  input.unpacked = std::move(unpacked).value();
  return input;
}

// Pages of a mapped file that were read count as memory of ours until they are let go.
void DropPages(std::string_view mapped, std::size_t& dropped, std::size_t end) {
  constexpr std::size_t kWorthwhile = std::size_t{8} << 20U;  // whole pages of any size
  end = std::min(end, mapped.size()) / kWorthwhile * kWorthwhile;
  if (end <= dropped) return;
  static_cast<void>(::madvise(
      const_cast<char*>(mapped.data()) + dropped,  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      end - dropped, MADV_DONTNEED));
  dropped = end;
}

Result<Profile> Decode(const Input& input, Format format, const ReadOptions& options) {
  const std::string_view bytes = input.bytes();
  switch (format) {
    case Format::kPerfData:
      if (input.packed) return ReadPerfData(bytes, options);
      return ReadPerfData(bytes, options,
                          [bytes, dropped = std::size_t{0}](std::size_t end) mutable {
                            DropPages(bytes, dropped, end);
                          });
    case Format::kPerfScript:
      return ReadPerfScript(bytes, options);
    case Format::kFolded:
      return ReadFolded(bytes, options);
    case Format::kPprof:
      return ReadPprof(bytes, options);
    case Format::kSpeedscope:
      return ReadSpeedscope(bytes, options);
    case Format::kCpuProfile:
      return ReadCpuProfile(bytes, options);
    default:
      return Error{"it is no profile that culprit knows",
                   "culprit flame reads traces, .duckdb, perf.data, perf script text, folded "
                   "stacks, pprof, speedscope and .cpuprofile"};
  }
}

}  // namespace

Format DetectFormat(std::string_view head) {
  if (head.starts_with("PERFILE2") || head.starts_with("2ELIFREP") ||
      head.starts_with("PERFFILE") || head.starts_with("ELIFFREP")) {
    return Format::kPerfData;
  }
  if (IsPprof(head)) return Format::kPprof;
  head = head.substr(0, kHeadBytes);
  const std::string_view text = SkipSpace(head);
  if (!IsText(text) || text.empty()) return Format::kUnknown;
  if (text.starts_with('{')) {
    const auto has = [text](std::string_view word) {
      return text.find(word) != std::string_view::npos;
    };
    if (has("\"traceEvents\"")) return Format::kUnknown;  // Chrome's trace: events, no profile
    if (has("speedscope") || has("\"shared\"")) return Format::kSpeedscope;
    if (has("\"callFrame\"") || has("\"timeDeltas\"") || has("\"nodes\"")) {
      return Format::kCpuProfile;
    }
    return Format::kUnknown;
  }
  return DetectText(head);
}

Result<Format> DetectFile(const std::string& path) {
  CULPRIT_ASSIGN(const auto input, OpenInput(path, kHeadBytes));
  return DetectFormat(input.bytes());
}

Result<Profile> ReadProfile(const std::string& path, const ReadOptions& options) {
  CULPRIT_ASSIGN(const auto input, OpenInput(path, kLargestUnpacked));
  auto profile = Decode(input, DetectFormat(input.bytes()), options);
  if (!profile.ok()) {
    const bool empty = input.bytes().empty();
    return Error{path + ": " + (empty ? "the file is empty" : profile.error().what),
                 empty ? "" : profile.error().remedy};
  }
  if (input.cut) profile->notes.push_back({"the compressed file ends early", true});
  return profile;
}

}  // namespace culprit::profile
