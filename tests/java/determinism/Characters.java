/** Arrays that library methods fill. */
class Characters {
    static final char[] LETTERS = {'a', 'b'};

    public static void main(String[] arguments) throws InterruptedException {
        StringBuilder text = new StringBuilder("xy");
        Thread other = new Thread(() -> text.getChars(0, 2, LETTERS, 0));
        other.start();
        System.out.println(LETTERS[0]);
        other.join();
    }
}
// output: can differ
