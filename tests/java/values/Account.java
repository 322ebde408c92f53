/** The running example of the paper: deposit and withdraw under one monitor. */
public class Account {
    int amount;

    synchronized void deposit(int money) {
        amount = amount + money;
    }

    synchronized void withdraw(int money) {
        amount = amount - money;
    }

    static class Deposit extends Thread {
        final Account account;

        Deposit(Account account) {
            this.account = account;
        }

        @Override
        public void run() {
            account.deposit(100);
        }
    }

    static class Withdraw extends Thread {
        final Account account;

        Withdraw(Account account) {
            this.account = account;
        }

        @Override
        public void run() {
            account.withdraw(100);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Account account = new Account();
        account.amount = 1000;
        Thread one = new Deposit(account);
        Thread other = new Withdraw(account);
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println(account.amount);
    }
}

// sources: Account.amount proved
// paper: Account.amount can differ
// weak const by paper: Account.amount no
// intervals: Account.amount Deposit [1000..1100], Withdraw [900..1000], main 1000
// intervals together: Account.amount [900..1100]
// rounds: 3
// signs: Account.amount Deposit any number, Withdraw any number, main [1..∞]
// hasty: Account.amount Deposit -∞
