/** Deposit and withdraw under one monitor: who is first differs, what comes out does not. */
public class Account {
    int amount = 1000;

    synchronized void deposit(int money) {
        amount = amount + money;
    }

    synchronized void withdraw(int money) {
        amount = amount - money;
    }

    public static void main(String[] args) throws InterruptedException {
        Account account = new Account();
        Thread one = new Thread(() -> account.deposit(100));
        Thread other = new Thread(() -> account.withdraw(100));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(account.amount);
    }
}

// proved: Account.amount
// output: proved
