import java.util.concurrent.Phaser;

/** race: the second phase reads what another thread still writes in it. */
public class Phaser_bad {
    static final Phaser phaser = new Phaser(2);
    static int data;

    static void write() {
        phaser.arriveAndAwaitAdvance();
        data = 1;
    }

    static void read() {
        phaser.arriveAndAwaitAdvance();
        System.out.println(data >= 0);
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Phaser_bad::write, "a");
        Thread b = new Thread(Phaser_bad::read, "b");
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
