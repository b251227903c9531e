// How long ranks take that exchange messages over a star of links, simulated by SimGrid (S4U, version 3.32 or newer).
//
// exchanges ALGORITHM RANKS BYTES BYTES_PER_SECOND LATENCY_SECONDS prints the seconds of one exchange. The latency is
// that of a whole route, of which each of its two links has half.
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

static int ranks;
static double size_bytes;

static sg4::Mailbox* box(int from, int to)
{
  return sg4::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

static int token = 0;

static sg4::CommPtr sending(int from, int to, double bytes)
{
  return box(from, to)->put_async(&token, static_cast<uint64_t>(bytes));
}

static void exchange(int me, int to, int from, double bytes)
{
  auto out = sending(me, to, bytes);
  box(from, me)->get<int>();
  out->wait();
}

static void ring(int me)
{
  for (int step = 0; step < 2 * (ranks - 1); step++)
    exchange(me, (me + 1) % ranks, (me + ranks - 1) % ranks, size_bytes / ranks);
}

static void halving(int me)
{
  double part = size_bytes;
  for (int distance = ranks / 2; distance; distance /= 2)
    exchange(me, me ^ distance, me ^ distance, part /= 2);
  for (int distance = 1; distance < ranks; distance *= 2, part *= 2)
    exchange(me, me ^ distance, me ^ distance, part);
}

static void tree(int me)
{
  int distance = 1;
  for (; distance < ranks && !(me & distance); distance *= 2)
    box(me | distance, me)->get<int>();
  if (me)
    sending(me, me ^ distance, size_bytes)->wait();
  if (me)
    box(me ^ distance, me)->get<int>();
  for (distance /= 2; distance; distance /= 2)
    sending(me, me | distance, size_bytes)->wait();
}

static void neighbours(int me)
{
  std::vector<int> others = {(me + 1) % ranks};
  if (ranks > 2)
    others.push_back((me + ranks - 1) % ranks);
  std::vector<sg4::CommPtr> all;
  std::vector<int*> taken(others.size());
  for (size_t place = 0; place < others.size(); place++) {
    all.push_back(box(others[place], me)->get_async<int>(&taken[place]));
    all.push_back(sending(me, others[place], size_bytes));
  }
  for (auto& one : all)
    one->wait();
}

static void server(int me)
{
  // The last of ranks + 1 is the server.
  if (me < ranks) {
    auto out = sending(me, ranks, size_bytes);
    out->wait();
    box(ranks, me)->get<int>();
    return;
  }
  std::vector<sg4::CommPtr> all;
  std::vector<int*> taken(ranks);
  for (int rank = 0; rank < ranks; rank++)
    all.push_back(box(rank, me)->get_async<int>(&taken[rank]));
  for (auto& one : all)
    one->wait();
  all.clear();
  for (int rank = 0; rank < ranks; rank++)
    all.push_back(sending(me, rank, size_bytes));
  for (auto& one : all)
    one->wait();
}

static void gather(int me)
{
  for (int step = 0; step < ranks - 1; step++)
    exchange(me, (me + 1) % ranks, (me + ranks - 1) % ranks, size_bytes);
}

int main(int argc, char* argv[])
{
  sg4::Engine engine(&argc, argv);
  if (argc != 6) {
    std::fprintf(stderr, "exchanges ALGORITHM RANKS BYTES BYTES_PER_SECOND LATENCY_SECONDS\n");
    return 2;
  }
  const std::string algorithm = argv[1];
  ranks = std::atoi(argv[2]);
  size_bytes = std::atof(argv[3]);
  const double rate = std::atof(argv[4]), latency = std::atof(argv[5]);
  void (*body)(int) = algorithm == "ring"         ? ring
                      : algorithm == "halving"    ? halving
                      : algorithm == "tree"       ? tree
                      : algorithm == "neighbours" ? neighbours
                      : algorithm == "server"     ? server
                      : algorithm == "gather"     ? gather
                                                  : nullptr;
  if (!body) {
    std::fprintf(stderr, "no algorithm %s\n", argv[1]);
    return 2;
  }
  const int hosts = ranks + (algorithm == "server");
  auto* zone = sg4::create_star_zone("cluster");
  std::vector<sg4::Host*> all;
  for (int number = 0; number < hosts; number++) {
    auto* host = zone->create_host("host" + std::to_string(number), 1e9);
    auto* link = zone->create_split_duplex_link("link" + std::to_string(number), rate)->set_latency(latency / 2)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg4::LinkInRoute::Direction::UP}}, true);
    all.push_back(host);
  }
  zone->seal();
  for (int number = 0; number < hosts; number++)
    sg4::Actor::create("rank" + std::to_string(number), all[number], body, number);
  engine.run();
  std::printf("%.12g\n", sg4::Engine::get_clock());
  return 0;
}
