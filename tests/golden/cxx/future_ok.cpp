// primitive: std::promise, std::future
// kind: ok
// about: everything written before set_value is there after get.
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
        report.words = 900;
        done.set_value(report.pages);
    });
    int count = pages.get();
    int words = report.words;
    writer.join();
    std::printf("pages %d words %d\n", count, words);
}
