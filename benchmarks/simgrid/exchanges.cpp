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

// Steps of a training with a server follow each other, and gradients of the next one arrive beside the answers of the
// last: what a step takes is what the last of several takes.
static const int STEPS = 12;
static double step_seconds = -1;

static void worker(int me)
{
  for (int step = 0; step < STEPS; step++) {
    sending(me, ranks, size_bytes)->wait();
    box(ranks, me)->get<int>();
  }
}

// The last of ranks + 1 is the server. It waits for all gradients, then answers the ranks in their order.
static void server(int me)
{
  if (me < ranks)
    return worker(me);
  std::vector<sg4::CommPtr> expected(ranks);
  std::vector<int*> taken(ranks);
  for (int rank = 0; rank < ranks; rank++)
    expected[rank] = box(rank, me)->get_async<int>(&taken[rank]);
  for (int step = 0; step < STEPS; step++) {
    const double begun = sg4::Engine::get_clock();
    for (int rank = 0; rank < ranks; rank++) {
      expected[rank]->wait();
      if (step + 1 < STEPS)
        expected[rank] = box(rank, me)->get_async<int>(&taken[rank]);
    }
    for (int rank = 0; rank < ranks; rank++)
      sending(me, rank, size_bytes)->wait();
    step_seconds = sg4::Engine::get_clock() - begun;
  }
}

// It answers each gradient as it comes.
static void asynchronous(int me)
{
  if (me < ranks)
    return worker(me);
  std::vector<int*> taken(ranks);
  std::vector<int> owners(ranks), left(ranks, STEPS);
  std::vector<sg4::CommPtr> expected(ranks);
  std::vector<double> answered;
  for (int rank = 0; rank < ranks; rank++) {
    owners[rank] = rank;
    expected[rank] = box(rank, me)->get_async<int>(&taken[rank]);
  }
  while (!expected.empty()) {
    const long place = sg4::Comm::wait_any(expected);
    const int rank = owners[place];
    if (--left[rank])
      expected[place] = box(rank, me)->get_async<int>(&taken[rank]);
    else {
      expected.erase(expected.begin() + place);
      owners.erase(owners.begin() + place);
    }
    sending(me, rank, size_bytes)->wait();
    answered.push_back(sg4::Engine::get_clock());
  }
  // As many answers as there are ranks are a step of each; those of the start and of the end are left out.
  const size_t first = answered.size() / 4, last = answered.size() / 2;
  step_seconds = (answered[last] - answered[first]) * ranks / (last - first);
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
                      : algorithm == "asynchronous" ? asynchronous
                      : algorithm == "gather"     ? gather
                                                  : nullptr;
  if (!body) {
    std::fprintf(stderr, "no algorithm %s\n", argv[1]);
    return 2;
  }
  const int hosts = ranks + (body == server || body == asynchronous);
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
  std::printf("%.12g\n", step_seconds < 0 ? sg4::Engine::get_clock() : step_seconds);
  return 0;
}
