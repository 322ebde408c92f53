// primitive: virtual destructor and delete
// kind: race
// lines: 23 25
// exit: 0 134 139
// about: the shape is deleted while another thread may still call it.
#include <chrono>
#include <cstdio>
#include <thread>

struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    int side;
    explicit Square(int s) : side(s) {}
    int area() const override { return side * side; }
};

int main() {
    Shape *shape = new Square(3);
    int area = 0;
    std::thread painter([&] { area = shape->area(); }); // (1)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    delete shape; // (2)
    painter.join();
    std::printf("area %d\n", area);
}
