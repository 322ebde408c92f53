// primitive: std::exception_ptr across threads
// kind: ok
// about: the exception is handed to the main thread by the join.
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
            failure = std::current_exception();
        }
    });
    worker.join();
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (const std::runtime_error &error) {
        std::printf("failed: %s\n", error.what());
    }
}
