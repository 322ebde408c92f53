/** Where it is printed to is part of what is printed. */
class Redirected {
    public static void main(String[] arguments) throws InterruptedException {
        Thread other = new Thread(() -> System.setOut(System.err));
        other.start();
        System.out.println("here or there");
        other.join();
    }
}
// output: can differ
