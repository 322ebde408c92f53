import java.util.concurrent.Phaser;

/** What is written in one phase is read in the next. */
public class Phaser_ok {
    static final Phaser phaser = new Phaser(2);
    static int data;

    static void write() {
        data = 1;
        phaser.arriveAndAwaitAdvance();
    }

    static void read() {
        phaser.arriveAndAwaitAdvance();
        System.out.println(data);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Phaser_ok::write, "a");
        Thread b = new Thread(Phaser_ok::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
