/** race: an object is published by a plain field, so that its own fields may not be seen. */
public class Publish_bad {
    static class Point {
        int x;

        Point(int x) {
            this.x = x;
        }
    }

    static Point shared;

    static void publish() {
        shared = new Point(1);
    }

    static void use() {
        Point seen = shared;
        System.out.println(seen == null || seen.x == 1);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Publish_bad::publish, "a");
        Thread b = new Thread(Publish_bad::use, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
