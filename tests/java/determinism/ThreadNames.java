/** Threads get their numbers when they are made, not when they are started. */
class ThreadNames {
    static final String[] NAMES = new String[2];

    public static void main(String[] arguments) throws InterruptedException {
        Thread one = new Thread(() -> NAMES[0] = new Thread(() -> { }).getName());
        Thread other = new Thread(() -> NAMES[1] = new Thread(() -> { }).getName());
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(NAMES[0] + NAMES[1]);
    }
}
// output: can differ
