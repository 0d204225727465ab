#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <protozero/pbf_writer.hpp>
#include <string>

#include "base/file.h"
#include "tracefile/fields.h"
#include "tracefile/inflate.h"
#include "tracefile/packet_walker.h"
#include "tracefile/proto_reader.h"
#include "tracefile/trace_file.h"

namespace culprit::tracefile {
namespace {

std::string Packet(std::uint64_t ts, std::size_t padding = 20) {
  std::string body;
  protozero::pbf_writer fields(body);
  fields.add_uint64(TracePacket::kTimestamp, ts);
  fields.add_bytes(TracePacket::kSysStats, std::string(padding, '\x42'));
  fields.add_uint32(TracePacket::kTrustedPacketSequenceId, 1);
  std::string framed;
  protozero::pbf_writer(framed).add_message(Trace::kPacket, body);
  return framed;
}

std::string Packets(int count) {
  std::string trace;
  for (int i = 0; i < count; ++i) trace += Packet(static_cast<std::uint64_t>(1000 + i));
  return trace;
}

int Count(PacketWalker& walker) {
  int count = 0;
  while (walker.Next()) ++count;
  return count;
}

TEST(PacketWalker, CutAtEveryByte) {
  const std::string trace = Packets(4);
  const std::size_t one = trace.size() / 4;
  for (std::size_t size = 0; size <= trace.size(); ++size) {
    PacketWalker walker(std::string_view(trace).substr(0, size));
    EXPECT_EQ(Count(walker), static_cast<int>(size / one)) << size;
    EXPECT_EQ(walker.is_cut(), size % one != 0) << size;
    EXPECT_EQ(walker.skipped_bytes(), 0U);
  }
}

TEST(PacketWalker, SkipsDamageAndGoesOn) {
  const std::string trace = Packets(3) + std::string("\x07\xff\xff garbage") + Packets(5);
  PacketWalker walker(trace);
  EXPECT_EQ(Count(walker), 8);
  EXPECT_EQ(walker.skipped_bytes(), 11U);
  EXPECT_FALSE(walker.is_cut());
}

TEST(PacketWalker, AFlippedLengthCostsWhatItHides) {
  std::string trace = Packets(10);
  const std::size_t one = trace.size() / 10;
  trace[2 * one + 1] = '\x7f';  // the third packet seems to be longer
  PacketWalker walker(trace);
  const int found = Count(walker);
  EXPECT_GE(found, 6);
  EXPECT_LT(found, 10);
}

TEST(ProtoReader, StopsAtMalformedFields) {
  ProtoReader cut(
      "\x0a\x05"
      "ab");
  EXPECT_FALSE(cut.Next());
  EXPECT_FALSE(cut.ok());
  ProtoReader endless("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_FALSE(endless.Next());
  ProtoReader zero_id(std::string_view("\x00\x01", 2));
  EXPECT_FALSE(zero_id.Next());
  ProtoReader fine("\x08\x96\x01\x12\x01z");
  ASSERT_TRUE(fine.Next());
  EXPECT_EQ(fine.u64(), 150U);
  EXPECT_EQ(fine.bytes(), "");
  ASSERT_TRUE(fine.Next());
  EXPECT_EQ(fine.bytes(), "z");
  EXPECT_EQ(fine.u64(), 0U);
  EXPECT_FALSE(fine.Next());
  EXPECT_TRUE(fine.ok());
}

std::string Deflate(std::string_view bytes, int window_bits) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(bytes.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class TraceFileTest : public ::testing::Test {
 protected:
  std::string Write(std::string_view bytes) {
    path_ = ::testing::TempDir() + "culprit-reader-" + std::to_string(getpid());
    auto fd = OpenFile(path_, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    EXPECT_TRUE(WriteAll(fd.value().get(), bytes, path_).ok());
    return path_;
  }
  ~TraceFileTest() override { unlink(path_.c_str()); }
  std::string path_;
};

TEST_F(TraceFileTest, GzipOfSeveralMembers) {
  const std::string trace = Packets(6);
  const std::string zipped = Deflate(std::string_view(trace).substr(0, 100), 31) +
                             Deflate(std::string_view(trace).substr(100), 31);
  const auto whole = TraceFile::Open(Write(zipped));
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->bytes(), trace);
  EXPECT_EQ(whole->file_bytes(), zipped.size());
  EXPECT_FALSE(whole->is_cut());
  const auto cut = TraceFile::Open(Write(zipped.substr(0, zipped.size() - 12)));
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE(cut->is_cut());
  EXPECT_TRUE(trace.starts_with(cut->bytes()));
}

TEST_F(TraceFileTest, CompressedPacketsAreReplacedInPlace) {
  std::string body;
  const std::string inner = Deflate(Packets(3), 15);
  protozero::pbf_writer(body).add_bytes(TracePacket::kCompressedPackets, inner);
  std::string framed;
  protozero::pbf_writer(framed).add_message(Trace::kPacket, body);
  const auto file = TraceFile::Open(Write(Packet(1) + framed + Packet(2)));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes(), Packet(1) + Packets(3) + Packet(2));
}

TEST_F(TraceFileTest, NamesWhatItIsNot) {
  const auto what = [this](std::string_view bytes) {
    const auto file = TraceFile::Open(Write(bytes));
    return file.ok() ? std::string("ok") : file.error().what;
  };
  EXPECT_NE(what("").find("empty"), std::string::npos);
  EXPECT_NE(what("PERFILE2xxxxxxxx").find("perf.data"), std::string::npos);
  EXPECT_EQ(what("{\"traceEvents\":[]}"), "ok");
  EXPECT_NE(what("hello world\nnothing here\n").find("not a trace"), std::string::npos);
  EXPECT_NE(what(std::string(100, '\0')).find("not a trace"), std::string::npos);
  EXPECT_EQ(what(Packets(1)), "ok");
  EXPECT_EQ(what("# tracer: nop\n a-5 [000] d... 1.000000: x: y\n"), "ok");
}

}  // namespace
}  // namespace culprit::tracefile
