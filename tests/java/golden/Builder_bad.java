/** race: two threads append to a StringBuilder. */
public class Builder_bad {
    static final StringBuilder text = new StringBuilder();

    static void append() {
        text.append("x");
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Builder_bad::append, "a");
        Thread b = new Thread(Builder_bad::append, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(text.length() <= 2);
    }
}
