// primitive: sem_wait, std::counting_semaphore
// kind: race
// lines: 19 26
// tsan: misses it unless the producer gets ahead in that run
// about: three free permits for two slots: the producer can write a slot while the consumer reads it.
#include <cstdio>
#include <semaphore>
#include <thread>

static std::counting_semaphore<8> free_slots(3), full_slots(0);
static int slots[2];

int main() {
    constexpr int items = 4;
    int sum = 0;
    std::thread producer([] {
        for (int i = 0; i < items; i++) {
            free_slots.acquire();
            slots[i % 2] = i + 1; // (1)
            full_slots.release();
        }
    });
    std::thread consumer([&] {
        for (int i = 0; i < items; i++) {
            full_slots.acquire();
            sum += slots[i % 2]; // (2)
            free_slots.release();
        }
    });
    producer.join();
    consumer.join();
    std::printf("sum %d\n", sum);
}
