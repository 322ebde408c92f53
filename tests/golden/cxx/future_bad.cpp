// primitive: std::promise, std::future
// kind: race
// lines: 21 24
// about: the details are written after set_value, while the reader may already be at them.
#include <cstdio>
#include <future>
#include <thread>

struct Report {
    int pages = 0;
    int words = 0;
};

int main() {
    Report report;
    std::promise<int> done;
    auto pages = done.get_future();
    std::thread writer([&] {
        report.pages = 3;
        done.set_value(report.pages);
        report.words = 900; // (1)
    });
    int count = pages.get();
    int words = report.words; // (2)
    writer.join();
    std::printf("pages %d words %d\n", count, words);
}
