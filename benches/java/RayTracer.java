/** Spheres seen from a point: two threads, lines of the picture in turn. Many small objects. Argument: width. */
public class RayTracer {
    static class Vector {
        final double x, y, z;

        Vector(double x, double y, double z) {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        Vector minus(Vector other) {
            return new Vector(x - other.x, y - other.y, z - other.z);
        }

        double times(Vector other) {
            return x * other.x + y * other.y + z * other.z;
        }
    }

    static class Sphere {
        Vector centre;
        double radius;
        double colour;
    }

    static class Ray {
        Vector from, towards;
        double nearest;
        Sphere hit;
    }

    static final Sphere[] scene = new Sphere[32];

    static boolean meets(Ray ray, Sphere sphere) {
        Vector way = ray.from.minus(sphere.centre);
        double b = way.times(ray.towards);
        double square = b * b - way.times(way) + sphere.radius * sphere.radius;
        if (square < 0) {
            return false;
        }
        double distance = -b - Math.sqrt(square);
        if (distance > 0.001 && distance < ray.nearest) {
            ray.nearest = distance;
            ray.hit = sphere;
            return true;
        }
        return false;
    }

    static void line(int y, int width, double[] picture) {
        for (int x = 0; x < width; x++) {
            Ray ray = new Ray();
            ray.from = new Vector(0, 0, -20);
            double dx = (x - width / 2.0) / width, dy = (y - width / 2.0) / width;
            double length = Math.sqrt(dx * dx + dy * dy + 1);
            ray.towards = new Vector(dx / length, dy / length, 1 / length);
            ray.nearest = Double.MAX_VALUE;
            for (Sphere sphere : scene) {
                meets(ray, sphere);
            }
            picture[y * width + x] = ray.hit == null ? 0 : ray.hit.colour / ray.nearest;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int width = Integer.parseInt(arguments[0]);
        for (int i = 0; i < scene.length; i++) {
            scene[i] = new Sphere();
            scene[i].centre = new Vector(i % 8 - 4, i / 8 - 2, i % 5);
            scene[i].radius = 0.7;
            scene[i].colour = i + 1;
        }
        double[] picture = new double[width * width];
        Thread[] threads = new Thread[2];
        for (int t = 0; t < 2; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                for (int y = own; y < width; y += 2) {
                    line(y, width, picture);
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double sum = 0;
        for (double point : picture) {
            sum += point;
        }
        System.out.println(sum);
    }
}
