/** What depends on a choice that is made elsewhere names it. */
public class NamedChoices {
    static int last;
    static int copied;
    static int asked;
    static int after;
    int held;

    static void copy() {
        int found = last;
        copied = found + 1;
        if (found > 1) {
            asked = 1;
        }
        NamedChoices chosen = found > 1 ? new NamedChoices() : new NamedChoices();
        chosen.held = 7;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> last = 1);
        Thread other = new Thread(() -> last = 2);
        one.start();
        other.start();
        one.join();
        other.join();
        copy();
        after = copied * 2;
        System.out.println(after);
    }
}
// can differ: NamedChoices.last, NamedChoices.copied, NamedChoices.asked, NamedChoices.after, NamedChoices.held
// output: can differ
// why of NamedChoices.copied: what is written at NamedChoices.java:11 can depend on the choice at NamedChoices.java:10 (NamedChoices.last)
// why of NamedChoices.asked: whether it is written at NamedChoices.java:13 can depend on the choice at NamedChoices.java:10 (NamedChoices.last)
// why of NamedChoices.held: which object or element is written at NamedChoices.java:16 can depend on the choice at NamedChoices.java:10 (NamedChoices.last)
// why of NamedChoices.after: what is written at NamedChoices.java:27 can depend on the choice at NamedChoices.java:10 (NamedChoices.last)
// why of output: what is printed, or whether, can depend on the choice at NamedChoices.java:10 (NamedChoices.last)
