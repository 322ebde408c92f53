/** Whether money is taken depends on who was first. */
public class Withdraw2 {
    int amount = 1000;

    synchronized void withdraw(int money) {
        if (amount - money > 0) {
            amount = amount - money;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Withdraw2 account = new Withdraw2();
        Thread one = new Thread(() -> account.withdraw(700));
        Thread other = new Thread(() -> account.withdraw(600));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(account.amount);
    }
}

// can differ: Withdraw2.amount
// output: can differ
