/** The same with a StringBuffer. */
public class Builder_ok {
    static final StringBuffer text = new StringBuffer();

    static void append() {
        text.append("x");
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(Builder_ok::append, "a");
        Thread b = new Thread(Builder_ok::append, "b");
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(text.length());
    }
}
