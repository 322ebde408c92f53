// primitive: virtual destructor and delete
// kind: ok
// about: the shape is deleted after the thread that draws it has been joined.
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
    std::thread painter([&] { area = shape->area(); });
    painter.join();
    delete shape;
    std::printf("area %d\n", area);
}
