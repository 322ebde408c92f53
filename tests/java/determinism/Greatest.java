/** The greatest and the least of what all threads offer, whoever comes first; who offered it first depends on that. */
public class Greatest {
    static int greatest;
    static long least = Long.MAX_VALUE;
    static int torn;
    static int reset;
    static int lost;
    static int found;
    static long best = Long.MAX_VALUE;
    static int who;

    static synchronized void offer(int value) {
        if (value > greatest) {
            greatest = value;
        }
        if (least > value) {
            least = value;
        }
        if (value > reset) {
            reset = value;
        }
        if (value > found) {
            found = value;
        } else {
            lost++;
        }
        if (value < best) {
            best = value;
            who = value;
        }
    }

    static synchronized void again() {
        reset = 0;
    }

    static void unlocked(int value) {
        if (value > torn) {
            torn = value;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            final int id = i;
            threads[i] = new Thread(() -> {
                offer(id * 7 % 5);
                unlocked(id);
                again();
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(greatest + " " + least);
    }
}

// proved: Greatest.greatest, Greatest.least
// can differ: Greatest.torn, Greatest.reset, Greatest.lost, Greatest.found, Greatest.who
// output: proved
