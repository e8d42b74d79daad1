// Replays a flow trace through ns-3: DCTCP on a leaf-spine fabric, one ECMP path per flow.
//
//   leafspine_dctcp --trace=flows.csv --out=fct.csv      (--help lists every parameter)
//
// The trace has the columns start_s, src, dst, size_bytes in any order, and class where switches
// serve several by strict priority, 0 first; others are ignored. The output has one row per flow in the order of the trace; fct_s is empty when the flow did not
// finish. One JSON object with the counters goes to stdout.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <unordered_map>

using namespace ns3;

namespace
{

struct Parameters
{
    std::string trace;
    std::string out;
    uint32_t leaves = 9;
    uint32_t hostsPerLeaf = 16;
    uint32_t spines = 4;
    DataRate hostRate{"10Gbps"};
    DataRate fabricRate{"40Gbps"};
    Time linkDelay{"2us"};
    QueueSize buffer{"500KB"};
    uint32_t payload = 1460;     // bytes of a full packet
    uint32_t markPackets = 15;   // ECN threshold K
    uint32_t initialWindow = 14; // packets
    Time minRto{"1ms"};
    Time lead{"1ms"};    // connections open this long before their flow starts
    Time msl{"10ms"};    // an ended connection is remembered for twice this long
    Time maxTime{"60s"}; // stop here even if flows are unfinished
    uint32_t classes = 1; // queues of a switch's port, which it serves by strict priority
    bool turns = false;  // flows of a host take turns at its port, which does not mark
};

struct Flow
{
    double startS = 0;
    uint32_t src = 0;
    uint32_t dst = 0;
    uint32_t sizeBytes = 0;
    uint32_t trafficClass = 0;

    Ptr<Socket> sender;
    uint32_t receivedBytes = 0;
    Time begin;
    Time fct; // zero until the last byte has arrived
};

constexpr uint32_t kHeaderBytes = 40; // IP + TCP; the link adds 2 bytes of PPP
constexpr const char* kFirstBand = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"; // for all 16 priorities
constexpr uint16_t kPort = 5000;      // where the first class is received; others follow

// ---------------------------------------------------------------------------------------------
// Trace

std::vector<std::string>
SplitCells(const std::string& line)
{
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');)
    {
        while (!cell.empty() && std::isspace(static_cast<unsigned char>(cell.back())))
        {
            cell.pop_back();
        }
        cells.push_back(cell);
    }
    return cells;
}

std::vector<Flow>
ReadTrace(const std::string& path, uint32_t hosts, uint32_t classes)
{
    std::ifstream file(path);
    NS_ABORT_MSG_UNLESS(file, "cannot read the trace '" << path << "'");
    std::string line;
    std::getline(file, line);
    std::map<std::string, std::size_t> column;
    for (const std::string& name : SplitCells(line))
    {
        column.emplace(name, column.size());
    }
    for (const char* name : {"start_s", "src", "dst", "size_bytes"})
    {
        NS_ABORT_MSG_UNLESS(column.count(name), path << " has no column '" << name << "'");
    }
    NS_ABORT_MSG_UNLESS(classes == 1 || column.count("class"), path << " has no column 'class'");

    std::vector<Flow> flows;
    while (std::getline(file, line))
    {
        const auto cells = SplitCells(line);
        if (cells.empty())
        {
            continue;
        }
        NS_ABORT_MSG_UNLESS(cells.size() == column.size(), path << ": not a full row: " << line);
        const auto cell = [&](const char* name) { return cells.at(column.at(name)); };
        Flow flow;
        flow.startS = std::stod(cell("start_s"));
        flow.src = std::stoul(cell("src"));
        flow.dst = std::stoul(cell("dst"));
        flow.sizeBytes = std::stoul(cell("size_bytes"));
        flow.trafficClass = classes > 1 ? std::stoul(cell("class")) : 0;
        NS_ABORT_MSG_UNLESS(flow.trafficClass < classes, path << ": no such class: " << line);
        NS_ABORT_MSG_UNLESS(flow.src < hosts && flow.dst < hosts && flow.src != flow.dst,
                            path << ": no such pair of hosts: " << line);
        flows.push_back(flow);
    }
    return flows;
}

void
WriteResults(const std::string& path, const std::vector<Flow>& flows)
{
    std::ofstream file(path);
    file << std::setprecision(17) << "start_s,src,dst,size_bytes,fct_s\n";
    for (const Flow& flow : flows)
    {
        file << flow.startS << ',' << flow.src << ',' << flow.dst << ',' << flow.sizeBytes << ',';
        if (!flow.fct.IsZero())
        {
            file << flow.fct.GetSeconds();
        }
        file << '\n';
    }
    NS_ABORT_MSG_UNLESS(file, "cannot write '" << path << "'");
}

// ---------------------------------------------------------------------------------------------
// Fabric

Ipv4Address
HostAddress(uint32_t host)
{
    return Ipv4Address((10u << 24) + host + 1);
}

uint32_t
HostOf(Ipv4Address address)
{
    return address.Get() - (10u << 24) - 1;
}

// Routing by position: no tables, because the address is the number of the host. Where several
// ports lead to the destination, a hash of the connection's addresses and TCP ports picks one, so
// that all packets of a flow take one path (and its ACKs another, as with ECMP in a switch).
class FabricRouting : public Ipv4RoutingProtocol
{
  public:
    enum class Role
    {
        Host,
        Leaf,
        Spine
    };

    FabricRouting(Role role, uint32_t index, const Parameters& parameters)
        : m_role(role),
          m_index(index),
          m_hostsPerLeaf(parameters.hostsPerLeaf),
          m_spines(parameters.spines)
    {
    }

    // Ports in order; a leaf has its hosts first, then its spines.
    void AddPort(Ptr<NetDevice> device)
    {
        auto route = Create<Ipv4Route>();
        route->SetOutputDevice(device);
        route->SetGateway(Ipv4Address(1)); // any: a point-to-point device does not look at it
        if (m_role == Role::Host)
        {
            route->SetSource(HostAddress(m_index));
        }
        m_ports.push_back(route);
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header&,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        error = Socket::ERROR_NOTERROR;
        return m_ports.front();
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice>,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
    {
        if (m_role == Role::Host)
        {
            deliver(packet, header, 1);
        }
        else
        {
            forward(m_ports[Port(packet, header)], packet, header);
        }
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(Ptr<Ipv4>) override
    {
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    uint32_t Port(Ptr<const Packet> packet, const Ipv4Header& header) const
    {
        const uint32_t host = HostOf(header.GetDestination());
        const uint32_t leaf = host / m_hostsPerLeaf;
        if (m_role == Role::Spine)
        {
            return leaf;
        }
        if (leaf == m_index)
        {
            return host % m_hostsPerLeaf;
        }
        return m_hostsPerLeaf + Hash(packet, header) % m_spines;
    }

    // 64-bit finaliser of SplitMix64 over addresses and ports.
    static uint32_t Hash(Ptr<const Packet> packet, const Ipv4Header& header)
    {
        uint32_t tcpPorts = 0; // the first four bytes of the TCP header
        packet->CopyData(reinterpret_cast<uint8_t*>(&tcpPorts), sizeof tcpPorts);
        uint64_t x = (uint64_t{header.GetSource().Get()} << 32) | header.GetDestination().Get();
        x ^= uint64_t{tcpPorts} * 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return static_cast<uint32_t>((x ^ (x >> 31)) >> 32);
    }

    Role m_role;
    uint32_t m_index;
    uint32_t m_hostsPerLeaf;
    uint32_t m_spines;
    std::vector<Ptr<Ipv4Route>> m_ports;
};

// The class of a packet, as the TCP port says at which its flow is received: ns-3's TCP gives up ECN
// where a socket has a TOS of its own. What opens a connection goes first, so that it is over when the
// flow starts, also where a class starves.
class ClassByPort : public Ipv4PacketFilter
{
  public:
    explicit ClassByPort(uint32_t classes)
        : m_classes(classes)
    {
    }

  private:
    int32_t DoClassify(Ptr<QueueDiscItem> item) const override
    {
        std::array<uint8_t, 14> header{}; // ports of source and destination first, flags last
        item->GetPacket()->CopyData(header.data(), header.size());
        if (header.back() & TcpHeader::SYN)
        {
            return 0;
        }
        for (const std::size_t at : {0, 2})
        {
            const int32_t number = (header[at] << 8 | header[at + 1]) - kPort;
            if (number >= 0 && number < static_cast<int32_t>(m_classes))
            {
                return number;
            }
        }
        return PF_NO_MATCH;
    }

    uint32_t m_classes;
};

void
ConfigureDefaults(const Parameters& p)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpDctcp::GetTypeId()));
    // The window shrinks by alpha / 2 at once (RFC 8257); ns-3's default, proportional rate
    // reduction, would spread the cut over a round trip.
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(p.payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(p.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Max(p.lead, MilliSeconds(1))));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false)); // 40-byte headers
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(p.minRto));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(p.msl.GetSeconds()));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(p.minRto));

    // RED reduced to a step: the average is the present length, and both thresholds are K, so that
    // a packet is marked when it finds K or more waiting. One of those waits in the device, outside
    // the queue disc, which therefore gets one packet less of threshold and of buffer. The packet
    // in transmission does not count.
    const uint32_t packetBytes = p.payload + kHeaderBytes;
    const uint32_t inDevice = 1;
    NS_ABORT_MSG_UNLESS(p.markPackets > inDevice, "mark_packets must exceed " << inDevice);
    const double threshold = (p.markPackets - inDevice) * packetBytes;
    const QueueSize limit(QueueSizeUnit::BYTES, p.buffer.GetValue() - inDevice * packetBytes);
    Config::SetDefault("ns3::RedQueueDisc::MaxSize", QueueSizeValue(limit));
    Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(threshold));
    Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(threshold));
    Config::SetDefault("ns3::RedQueueDisc::QW", DoubleValue(1));
    Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
    Config::SetDefault("ns3::RedQueueDisc::MeanPktSize", UintegerValue(packetBytes));
    // A packet of each flow in turn, marked where it has waited for K packets of a host. CoDel keeps
    // times in 32 bits of microseconds; it leaves alone what waits less than its target.
    const Time marked = p.hostRate.CalculateBytesTxTime(p.markPackets * packetBytes);
    Config::SetDefault("ns3::FqCoDelQueueDisc::CeThreshold", TimeValue(marked));
    Config::SetDefault("ns3::FqCoDelQueueDisc::Target", StringValue("100s"));
    Config::SetDefault("ns3::FqCoDelQueueDisc::UseEcn", BooleanValue(true));
    Config::SetDefault("ns3::FqCoDelQueueDisc::MaxSize", StringValue("1000000p"));
}

class Fabric
{
  public:
    explicit Fabric(const Parameters& p)
    {
        using Role = FabricRouting::Role;
        for (uint32_t i = 0; i < p.leaves * p.hostsPerLeaf; ++i)
        {
            m_hosts.push_back(AddNode(Role::Host, i, p));
        }
        std::vector<Placed> leaves;
        std::vector<Placed> spines;
        for (uint32_t i = 0; i < p.leaves; ++i)
        {
            leaves.push_back(AddNode(Role::Leaf, i, p));
        }
        for (uint32_t i = 0; i < p.spines; ++i)
        {
            spines.push_back(AddNode(Role::Spine, i, p));
        }
        for (uint32_t i = 0; i < m_hosts.size(); ++i)
        {
            const uint32_t interface =
                Connect(m_hosts[i], leaves[i / p.hostsPerLeaf], p.hostRate, p);
            m_hosts[i].node->GetObject<Ipv4>()->AddAddress(
                interface, Ipv4InterfaceAddress(HostAddress(i), Ipv4Mask("255.0.0.0")));
        }
        for (const Placed& leaf : leaves)
        {
            for (const Placed& spine : spines)
            {
                Connect(leaf, spine, p.fabricRate, p);
            }
        }
    }

    Ptr<Node> Host(uint32_t index) const
    {
        return m_hosts[index].node;
    }

    uint32_t Hosts() const
    {
        return m_hosts.size();
    }

    uint64_t PacketHops() const
    {
        return m_packetHops;
    }

    QueueDisc::Stats Ports() const
    {
        QueueDisc::Stats sum;
        for (const auto& port : m_ports)
        {
            sum.nTotalDroppedPackets += port->GetStats().nTotalDroppedPackets;
            sum.nTotalMarkedPackets += port->GetStats().nTotalMarkedPackets;
        }
        return sum;
    }

  private:
    struct Placed // a host or a switch
    {
        Ptr<Node> node;
        Ptr<FabricRouting> routing;
        bool turns; // its flows take turns at its port
    };

    Placed AddNode(FabricRouting::Role role, uint32_t index, const Parameters& p)
    {
        const bool turns = p.turns && role == FabricRouting::Role::Host;
        Placed added{CreateObject<Node>(), Create<FabricRouting>(role, index, p), turns};
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(added.node);
        added.node->GetObject<Ipv4>()->SetRoutingProtocol(added.routing);
        return added;
    }

    // Returns the interface number at `a`.
    uint32_t Connect(const Placed& a, const Placed& b, DataRate rate, const Parameters& p)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(rate));
        link.SetChannelAttribute("Delay", TimeValue(p.linkDelay));
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
        const NetDeviceContainer devices = link.Install(a.node, b.node);

        QueueDiscContainer queues;
        for (uint32_t end = 0; end < 2; ++end)
        {
            TrafficControlHelper port;
            const bool turns = (end == 0 ? a : b).turns;
            if (turns)
            {
                port.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
            }
            else if (p.classes == 1)
            {
                port.SetRootQueueDisc("ns3::RedQueueDisc", "LinkBandwidth", DataRateValue(rate));
            }
            else
            {
                const uint16_t root = port.SetRootQueueDisc("ns3::PrioQueueDisc", "Priomap",
                                                            StringValue(kFirstBand));
                for (const uint16_t band :
                     port.AddQueueDiscClasses(root, p.classes, "ns3::QueueDiscClass"))
                {
                    port.AddChildQueueDisc(root, band, "ns3::RedQueueDisc", "LinkBandwidth",
                                           DataRateValue(rate));
                }
            }
            const Ptr<QueueDisc> queue = port.Install(devices.Get(end)).Get(0);
            if (!turns && p.classes > 1)
            {
                queue->AddPacketFilter(CreateObject<ClassByPort>(p.classes));
            }
            queues.Add(queue);
        }

        uint32_t first = 0;
        for (uint32_t end = 0; end < 2; ++end)
        {
            const Placed& owner = end == 0 ? a : b;
            const Ptr<NetDevice> device = devices.Get(end);
            const Ptr<Ipv4> ipv4 = owner.node->GetObject<Ipv4>();
            const uint32_t interface = ipv4->AddInterface(device);
            ipv4->SetUp(interface);
            owner.routing->AddPort(device);
            device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Fabric::CountHop, this));
            m_ports.push_back(queues.Get(end));
            first = end == 0 ? interface : first;
        }
        return first;
    }

    void CountHop(Ptr<const Packet>)
    {
        ++m_packetHops;
    }

    std::vector<Placed> m_hosts;
    std::vector<Ptr<QueueDisc>> m_ports;
    uint64_t m_packetHops = 0;
};

// ---------------------------------------------------------------------------------------------
// Flows

// Opens each connection `lead` before its flow starts, so that the handshake is no part of the
// FCT: it runs from the moment the sender has the bytes until the receiver has the last one.
class Replay
{
  public:
    Replay(const Fabric& fabric, std::vector<Flow>& flows, const Parameters& p)
        : m_fabric(fabric),
          m_flows(flows),
          m_payload(p.payload)
    {
        for (uint32_t i = 0; i < fabric.Hosts() * p.classes; ++i)
        {
            const uint32_t host = i / p.classes;
            const auto sink = Socket::CreateSocket(fabric.Host(host), TcpSocketFactory::GetTypeId());
            sink->Bind(InetSocketAddress(HostAddress(host), kPort + i % p.classes));
            sink->Listen();
            sink->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&Replay::Accept, this));
            m_sinks.push_back(sink);
        }
        for (uint32_t i = 0; i < flows.size(); ++i)
        {
            flows[i].begin = Seconds(flows[i].startS) + p.lead;
            Simulator::Schedule(flows[i].begin - p.lead, &Replay::Connect, this, i);
            Simulator::Schedule(flows[i].begin, &Replay::Send, this, i);
        }
    }

    uint32_t Finished() const
    {
        return m_finished;
    }

  private:
    static uint64_t Key(Ipv4Address source, uint16_t port)
    {
        return (uint64_t{source.Get()} << 16) | port;
    }

    void Connect(uint32_t index)
    {
        Flow& flow = m_flows[index];
        flow.sender = Socket::CreateSocket(m_fabric.Host(flow.src), TcpSocketFactory::GetTypeId());
        flow.sender->SetAttribute("SndBufSize", UintegerValue(flow.sizeBytes + m_payload));
        flow.sender->Bind();
        Address local;
        flow.sender->GetSockName(local);
        m_flowOf[Key(HostAddress(flow.src), InetSocketAddress::ConvertFrom(local).GetPort())] =
            index;
        const uint16_t port = kPort + flow.trafficClass;
        flow.sender->Connect(InetSocketAddress(HostAddress(flow.dst), port));
    }

    void Send(uint32_t index)
    {
        Flow& flow = m_flows[index];
        const int sent = flow.sender->Send(Create<Packet>(flow.sizeBytes));
        NS_ABORT_MSG_UNLESS(sent == static_cast<int>(flow.sizeBytes), "the flow was not accepted");
        flow.sender->Close();
        flow.sender = nullptr; // TCP keeps it until the connection is closed
    }

    void Accept(Ptr<Socket> connection, const Address& peer)
    {
        const auto from = InetSocketAddress::ConvertFrom(peer);
        const auto entry = m_flowOf.find(Key(from.GetIpv4(), from.GetPort()));
        NS_ABORT_IF(entry == m_flowOf.end());
        connection->SetRecvCallback(
            MakeCallback(&Replay::Receive, this).Bind(entry->second));
        m_flowOf.erase(entry);
    }

    void Receive(uint32_t index, Ptr<Socket> connection)
    {
        Flow& flow = m_flows[index];
        while (const Ptr<Packet> packet = connection->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break; // end of stream
            }
            flow.receivedBytes += packet->GetSize();
        }
        if (flow.receivedBytes == flow.sizeBytes && flow.fct.IsZero())
        {
            flow.fct = Simulator::Now() - flow.begin;
            connection->Close();
            if (++m_finished == m_flows.size())
            {
                Simulator::Stop();
            }
        }
    }

    const Fabric& m_fabric;
    std::vector<Flow>& m_flows;
    const uint32_t m_payload;
    std::vector<Ptr<Socket>> m_sinks;
    std::unordered_map<uint64_t, uint32_t> m_flowOf; // by the sender's address and port
    uint32_t m_finished = 0;
};

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    Parameters p;
    CommandLine options(__FILE__);
    options.AddValue("trace", "CSV with start_s, src, dst, size_bytes", p.trace);
    options.AddValue("out", "CSV to write, one row per flow", p.out);
    options.AddValue("leaves", "leaf switches", p.leaves);
    options.AddValue("hosts_per_leaf", "hosts at each leaf", p.hostsPerLeaf);
    options.AddValue("spines", "spine switches", p.spines);
    options.AddValue("host_rate", "rate of host links", p.hostRate);
    options.AddValue("fabric_rate", "rate of links between leaves and spines", p.fabricRate);
    options.AddValue("link_delay", "propagation delay of each link", p.linkDelay);
    options.AddValue("buffer", "buffer of each port, bytes", p.buffer);
    options.AddValue("payload", "payload of a full packet, bytes", p.payload);
    options.AddValue("mark_packets", "mark a packet that finds this many waiting", p.markPackets);
    options.AddValue("initial_window", "packets", p.initialWindow);
    options.AddValue("min_rto", "least retransmission timeout", p.minRto);
    options.AddValue("lead", "how long before its flow a connection opens", p.lead);
    options.AddValue("msl", "maximum segment lifetime: half of TIME-WAIT", p.msl);
    options.AddValue("classes", "queues of a switch's port, by strict priority", p.classes);
    options.AddValue("turns", "flows of a host take turns at its port", p.turns);
    options.AddValue("max_time", "simulated time after which to give up", p.maxTime);
    options.Parse(argc, argv);

    NS_ABORT_MSG_UNLESS(p.classes > 0, "there is no class");
    ConfigureDefaults(p);
    std::vector<Flow> flows = ReadTrace(p.trace, p.leaves * p.hostsPerLeaf, p.classes);
    Fabric fabric(p);
    Replay replay(fabric, flows, p);
    Simulator::Stop(p.maxTime);

    const auto wall = std::chrono::steady_clock::now();
    const std::clock_t cpu = std::clock();
    Simulator::Run();
    const double cpuS = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    const double wallS =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();

    WriteResults(p.out, flows);
    const QueueDisc::Stats ports = fabric.Ports();
    std::cout << "{\"flows\": " << flows.size() << ", \"finished\": " << replay.Finished()
              << ", \"packet_hops\": " << fabric.PacketHops()
              << ", \"drops\": " << ports.nTotalDroppedPackets
              << ", \"ecn_marks\": " << ports.nTotalMarkedPackets
              << ", \"events\": " << Simulator::GetEventCount()
              << ", \"simulated_s\": " << Simulator::Now().GetSeconds() << ", \"cpu_s\": " << cpuS
              << ", \"wall_s\": " << wallS
              << ", \"packet_hops_per_cpu_s\": " << fabric.PacketHops() / cpuS << "}\n";
    Simulator::Destroy();
    return 0;
}
