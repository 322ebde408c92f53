/** Joins that come too early, or that an exception skips, order nothing. */
class JoinMayFail extends Thread {
    static int afterAll;
    int before;
    int skipped;

    @Override
    public void run() {
        before++;
        skipped++;
        synchronized (JoinMayFail.class) {
            afterAll++;
        }
    }

    static void check(JoinMayFail thread) {
        if (thread.getName().isEmpty()) {
            throw new IllegalStateException();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        JoinMayFail[] threads = new JoinMayFail[3];
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            threads[i] = new JoinMayFail();
            JoinMayFail thread = threads[i];
            thread.join();
            thread.start();
            sum += thread.before;
        }
        for (JoinMayFail thread : threads) {
            try {
                check(thread);
                thread.join();
            } catch (IllegalStateException problem) {
                sum++;
            }
            sum += thread.skipped;
        }
        System.out.println(sum + afterAll);
    }
}
// can differ: JoinMayFail.before, JoinMayFail.skipped, JoinMayFail.afterAll
