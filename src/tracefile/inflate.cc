#include "tracefile/inflate.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace culprit::tracefile {
namespace {

constexpr std::size_t kOutBytes = std::size_t{1} << 18;
constexpr std::string_view kName = "the temporary file of the decompressed trace";

Result<bool> InflateZlib(std::string_view bytes, int window_bits, int out) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) return Error{"zlib: out of memory", ""};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  std::vector<char> buffer(kOutBytes);
  std::size_t taken = 0;
  for (;;) {
    const std::size_t piece =
        std::min<std::size_t>(bytes.size() - taken, std::numeric_limits<unsigned>::max());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + taken));
    stream.avail_in = static_cast<unsigned>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<unsigned>(buffer.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    taken += piece - stream.avail_in;
    const std::size_t made = buffer.size() - stream.avail_out;
    CULPRIT_TRY(WriteAll(out, {buffer.data(), made}, kName));
    if (status == Z_STREAM_END) {
      if (taken == bytes.size()) return true;
      // A further gzip member; anything else behind the end is padding and ignored.
      if (window_bits < 16 || bytes.substr(taken).substr(0, 2) != "\x1f\x8b") return true;
      if (inflateReset2(&stream, window_bits) != Z_OK) return false;
      continue;
    }
    if (status != Z_OK && status != Z_BUF_ERROR) return false;
    if (made == 0 && taken == bytes.size()) return false;  // cut off
  }
}

Result<bool> InflateZstd(std::string_view bytes, int out) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) return Error{"zstd: out of memory", ""};
  std::vector<char> buffer(kOutBytes);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer piece{buffer.data(), buffer.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context.get(), &piece, &in);
    CULPRIT_TRY(WriteAll(out, {buffer.data(), piece.pos}, kName));
    if (ZSTD_isError(status) != 0) return false;
    if (in.pos == in.size && piece.pos < piece.size) return status == 0;
  }
}

}  // namespace

Compression DetectCompression(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return Compression::kZstd;
  return Compression::kNone;
}

Result<bool> InflateTo(Compression kind, std::string_view bytes, int out) {
  constexpr int kLargestWindow = 15;
  constexpr int kGzipHeader = 16;
  switch (kind) {
    case Compression::kNone:
      CULPRIT_TRY(WriteAll(out, bytes, kName));
      return true;
    case Compression::kGzip:
      return InflateZlib(bytes, kLargestWindow + kGzipHeader, out);
    case Compression::kZlib:
      return InflateZlib(bytes, kLargestWindow, out);
    case Compression::kZstd:
      return InflateZstd(bytes, out);
  }
  return false;
}

}  // namespace culprit::tracefile
