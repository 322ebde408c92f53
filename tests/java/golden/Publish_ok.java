/** An object is published by a volatile field. */
public class Publish_ok {
    static class Point {
        int x;

        Point(int x) {
            this.x = x;
        }
    }

    static volatile Point shared;

    static void publish() {
        shared = new Point(1);
    }

    static void use() {
        Point seen = shared;
        System.out.println(seen == null || seen.x == 1);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Publish_ok::publish, "a");
        Thread b = new Thread(Publish_ok::use, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
