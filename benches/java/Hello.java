/** Four threads that say hello. */
public class Hello {
    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            String text = "hello from " + i;
            threads[i] = new Thread(() -> System.out.println(text));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
