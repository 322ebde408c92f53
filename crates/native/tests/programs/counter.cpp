#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Base {
  virtual ~Base() {}
  virtual int step() { return 0; }
};
struct Derived : Base {
  int step() override { return 1; }
};

static std::mutex lock;
static int plain;
static std::atomic<int> atomic_count;
static std::string copy;

static void count() {
  for (int i = 0; i < 1000; i++) {
    Derived derived;
    Base &base = derived;
    std::lock_guard<std::mutex> guard(lock);
    try {
      plain += base.step();
      if (plain % 100 == 0) throw std::runtime_error("hello");
    } catch (const std::exception &error) {
      copy = error.what();
    }
    atomic_count.fetch_add(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) threads.emplace_back(count);
  for (auto &thread : threads) thread.join();
  std::printf("plain %d atomic %d copy %s\n", plain, atomic_count.load(), copy.c_str());
  return 0;
}
