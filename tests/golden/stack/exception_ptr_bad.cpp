// primitive: std::exception_ptr across threads
// kind: race
// lines: 16 19
// about: the main thread looks whether an exception has arrived before the join.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

int main() {
    std::exception_ptr failure;
    std::thread worker([&] {
        try {
            throw std::runtime_error("no such file");
        } catch (...) {
            failure = std::current_exception(); // (1)
        }
    });
    bool early = failure != nullptr; // (2)
    worker.join();
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const std::runtime_error &error) {
        std::printf("failed%s: %s\n", early ? " early" : "", error.what());
    }
}
