#include "kernel/proc_net.h"

#include <gtest/gtest.h>

#include <string>

namespace culprit::kernel {
namespace {

TEST(ProcNet, NetDev) {
  std::vector<NetDevStat> interfaces;
  ASSERT_TRUE(ParseNetDev(
      "Inter-|   Receive                    |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets\n"
      "    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "eth0:17 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "eth0:1: 18 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
      "torn: 1 2 3\n",
      interfaces));
  ASSERT_EQ(interfaces.size(), 3U);
  EXPECT_EQ(interfaces[0].name, "lo");
  EXPECT_EQ(interfaces[0].rx.multicast, 8U);
  EXPECT_EQ(interfaces[0].tx.bytes, 9U);
  EXPECT_EQ(interfaces[0].tx.carrier, 15U);
  EXPECT_EQ(interfaces[1].rx.bytes, 17U);
  EXPECT_EQ(interfaces[2].name, "eth0:1");
  EXPECT_FALSE(ParseNetDev("", interfaces));
}

TEST(ProcNet, SoftnetOfOldAndNewKernels) {
  std::vector<SoftnetStat> cpus;
  ASSERT_TRUE(
      ParseSoftnet("00015c73 00020e76 f0000769 0 0 0 0 0 0\n"
                   "01663fb2 00000000 000109a4 0 0 0 0 0 0 00020e76 0 0 00000003\n"
                   "00015c73 00020e76 F0000769 00000000\n",
                   cpus));
  ASSERT_EQ(cpus.size(), 2U) << "four columns are no softnet line";
  EXPECT_EQ(cpus[0].cpu, 0U);
  EXPECT_EQ(cpus[0].dropped, 0x20e76U);
  EXPECT_EQ(cpus[0].squeezed, 0xf0000769U);
  EXPECT_EQ(cpus[1].cpu, 3U);
}

TEST(ProcNet, ProtocolValuesPairTheirLines) {
  std::vector<ProtocolValue> values;
  ParseProtocolValues(
      "Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs\nTcp: 1 -1 500 7\n"
      "TcpExt: ListenOverflows ListenDrops\nTcpExt: 3\n"
      "Udp: InDatagrams\nIcmp: 1\n",
      values);
  EXPECT_EQ(FindProtocolValue(values, "Tcp", "RetransSegs"), 7U);
  EXPECT_EQ(FindProtocolValue(values, "TcpExt", "ListenOverflows"), 3U);
  EXPECT_FALSE(FindProtocolValue(values, "TcpExt", "ListenDrops").has_value());
  EXPECT_FALSE(FindProtocolValue(values, "Tcp", "MaxConn").has_value());
  EXPECT_FALSE(FindProtocolValue(values, "Udp", "InDatagrams").has_value());
}

}  // namespace
}  // namespace culprit::kernel
