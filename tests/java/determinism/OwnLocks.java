/** Every thread locks an object of its own: the same line, but not the same lock. */
public class OwnLocks {
    static int sum;

    static class Adder extends Thread {
        private final Object lock = new Object();

        @Override
        public void run() {
            synchronized (lock) {
                sum += 1;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Adder[] adders = new Adder[2];
        for (int i = 0; i < 2; i++) {
            adders[i] = new Adder();
            adders[i].start();
        }
        for (int i = 0; i < 2; i++) {
            adders[i].join();
        }
        System.out.println(sum);
    }
}

// can differ: OwnLocks.sum
// output: can differ
