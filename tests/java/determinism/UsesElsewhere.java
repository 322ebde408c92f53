/** Two threads access a field of a class that may be left out when the program is analysed. */
public class UsesElsewhere {
    static int found;

    public static void main(String[] args) throws InterruptedException {
        Thread one = new Thread(() -> Elsewhere.number = 1);
        Thread two = new Thread(() -> found = Elsewhere.number);
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(found);
    }
}

class Elsewhere {
    static int number;
}

// can differ: UsesElsewhere.found, Elsewhere.number
