"""culprit check's network numbers against ip, nstat and ss, to the packet: in network namespaces of our own, where all that
is sent is sent between the two samples. Needs root; skips aloud where no namespace can be made."""
import json
import re
import subprocess
import sys
import unittest

from support import PROGRAM, Config, findings, main, needs_root

# Runs in a new network and mount namespace: argv is the program and a config file. A second namespace is at the other end
# of a veth pair. Prints one JSON object: the report, and what the tools said before and after.
INSIDE = r"""
import ctypes, fcntl, json, os, socket, struct, subprocess, sys, threading, time
program, config = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)

def tool(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout

# sysfs shows the interfaces of whoever mounted it.
if libc.mount(b'none', b'/', None, 0x44000, None) or libc.mount(b'none', b'/sys', b'sysfs', 0, None): sys.exit(77)
there = subprocess.Popen([sys.executable, '-c', '''
import ctypes, socket, sys
if ctypes.CDLL(None).unshare(0x40000000): sys.exit(77)
print('apart', flush=True); sys.stdin.readline()
import subprocess
for words in ('link set lo up', 'addr add 10.9.0.2/24 dev there0', 'link set there0 up'): subprocess.run(['ip', *words.split()], check=True)
server = socket.socket(); server.bind(('10.9.0.2', 7000)); server.listen(1)
print('listens', flush=True)
peer = server.accept()[0]
while True:
    data = peer.recv(65536)
    if not data: break
    peer.sendall(b'+' if data.endswith(b'!') else b'')
'''], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
if there.stdout.readline().strip() != 'apart': sys.exit(77)
tool('ip', 'link', 'set', 'lo', 'up')
tool('ip', 'link', 'add', 'here0', 'type', 'veth', 'peer', 'name', 'there0')
tool('ip', 'link', 'set', 'there0', 'netns', str(there.pid))
tool('ip', 'addr', 'add', '10.9.0.1/24', 'dev', 'here0')
tool('ip', 'link', 'set', 'here0', 'up')
there.stdin.write('\n'); there.stdin.flush()
if there.stdout.readline().strip() != 'listens': sys.exit(77)
tap = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22s', b'drops0', 0x1002, b''))
tool('sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=1')
tool('ip', 'link', 'set', 'drops0', 'up')
time.sleep(0.5)

def counters():
    links = {link['ifname']: link['stats64'] for link in json.loads(tool('ip', '-s', '-s', '-j', 'link'))}
    return {'links': links, 'nstat': json.loads(tool('nstat', '-aszj'))['kernel']}

out = {'before': counters()}
check = subprocess.Popen([program, 'check', '--only', 'network', '--sample', '5s', '--format', 'json', '--config', config],
                         stdout=subprocess.PIPE, text=True)
time.sleep(1)
client = socket.create_connection(('10.9.0.2', 7000))
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(600):
    client.sendall(b'x' * 99 + b'!'); client.recv(10)
# Frames for a wrong address are nobody's: what is sent now is lost, and sent again.
tool('ip', 'neigh', 'replace', '10.9.0.2', 'lladdr', '02:00:00:00:00:99', 'dev', 'here0', 'nud', 'permanent')
for _ in range(30):
    client.sendall(b'y' * 1000); time.sleep(0.005)
time.sleep(0.3)
tool('ip', 'neigh', 'del', '10.9.0.2', 'dev', 'here0')
client.sendall(b'!'); client.recv(10)
# A tap device that nobody reads drops what does not fit its queue.
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); raw.bind(('drops0', 0))
for _ in range(3000):
    try: raw.send(b'\xff' * 6 + bytes(6) + b'\x08\x00' + bytes(50))
    except OSError: pass
time.sleep(0.2)
out['quiet_before_the_second_sample'] = check.poll() is None
out['report'] = json.loads(check.communicate(timeout=60)[0])
out['after'] = counters()
out['ss'] = tool('ss', '-tinH', 'dst', '10.9.0.2')
out['ss -s'] = tool('ss', '-s')
client.close(); there.stdin.close(); there.wait(10)
print(json.dumps(out))
"""


@needs_root
class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config = Config("net.errors warning=0\nnet.drops warning=0.001\nnet.retransmits warning=0.001\nnet.util warning=0\n")
        for _ in range(3):  # a machine so busy that the traffic does not end before the second sample: again
            done = subprocess.run(["unshare", "-n", "-m", sys.executable, "-c", INSIDE, PROGRAM, config.file.name],
                                  capture_output=True, text=True, timeout=120)
            if done.returncode == 77 or "unshare" in done.stderr:
                raise unittest.SkipTest("no network namespace can be made here: " + done.stderr.strip())
            if done.returncode != 0:
                raise AssertionError(done.stderr)
            cls.out = json.loads(done.stdout)
            if cls.out["quiet_before_the_second_sample"]:
                return
        raise unittest.SkipTest("the traffic did not fit between two samples")

    def of(self, check_id, subject=""):
        found = [f for f in findings(self.out["report"], check_id) if f["subject"] == subject]
        self.assertEqual(len(found), 1, findings(self.out["report"], check_id))
        return found[0]

    def link(self, name, way, counter):
        return self.out["after"]["links"][name][way][counter] - self.out["before"]["links"][name][way][counter]

    def nstat(self, name):
        return self.out["after"]["nstat"][name] - self.out["before"]["nstat"][name]

    def test_packets_as_ip_counts_them(self):
        told = re.match(r"(\d+) errors \((\d+) CRC\) beside (\d+) packets", self.of("net.errors", "here0")["evidence"][0])
        packets = self.link("here0", "rx", "packets") + self.link("here0", "tx", "packets")
        self.assertGreater(packets, 1200)
        self.assertEqual(int(told[1]), 0)
        # ARP may ask again between check's second sample and the counters that are read behind it.
        self.assertLessEqual(int(told[3]), packets)
        self.assertGreaterEqual(int(told[3]), packets - 4)

    def test_bytes_as_ip_counts_them(self):
        # In percent of the 10 Gbit/s that a veth says it has.
        value = self.of("net.util", "here0")["value"]
        sent = value / 100 * 10e9 / 8 * self.out["report"]["sample_seconds"]
        most = max(self.link("here0", "rx", "bytes"), self.link("here0", "tx", "bytes"))
        self.assertAlmostEqual(sent, most, delta=0.001 * most)

    def test_drops_as_ip_counts_them(self):
        found = self.of("net.drops", "drops0")
        told = re.match(r"sending: (\d+) dropped beside (\d+) packets", found["evidence"][0])
        dropped, passed = self.link("drops0", "tx", "dropped"), self.link("drops0", "tx", "packets")
        self.assertGreater(dropped, 500)
        self.assertEqual((int(told[1]), int(told[2])), (dropped, passed))
        self.assertAlmostEqual(found["value"], 100 * dropped / (dropped + passed), places=6)

    def test_retransmits_as_nstat_and_ss_count_them(self):
        found = self.of("net.retransmits")
        told = re.match(r"(\d+) of (\d+) segments sent again", found["evidence"][0])
        again, sent = int(told[1]), int(told[2])
        self.assertGreater(again, 0)
        self.assertEqual((again, sent), (self.nstat("TcpRetransSegs"), self.nstat("TcpOutSegs")))
        # The only connection of this namespace: all it sent, and what of that again ("retrans:0/7": under way, in all).
        self.assertEqual(again, int(re.search(r"retrans:\d+/(\d+)", self.out["ss"])[1]), self.out["ss"])
        self.assertEqual(sent + again, int(re.search(r"segs_out:(\d+)", self.out["ss"])[1]), self.out["ss"])
        self.assertIn("estab 1", self.out["ss -s"])


if __name__ == "__main__":
    main()
