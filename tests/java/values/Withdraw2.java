/** The paper's second example: money is only taken if there is enough. */
public class Withdraw2 {
    int amount;

    synchronized void deposit(int money) {
        amount = amount + money;
    }

    synchronized void withdraw2(int money) {
        int temp = amount - money;
        if (temp > 0) {
            amount = temp;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Withdraw2 account = new Withdraw2();
        account.amount = 1000;
        Thread one = new Thread(() -> account.withdraw2(700));
        Thread other = new Thread(() -> account.withdraw2(600));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(account.amount);
    }
}

// sources: Withdraw2.amount can differ
// paper: Withdraw2.amount can differ
// weak sign: Withdraw2.amount yes
// weak sign by paper: Withdraw2.amount yes
// weak x >= 0: Withdraw2.amount yes
// weak const: Withdraw2.amount no
// weak const by paper: Withdraw2.amount no
// signs together: Withdraw2.amount [1..∞]
