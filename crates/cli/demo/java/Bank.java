/** A bank whose two tellers share an account, one of them without the lock. */
public class Bank extends Thread {
    private static final Object lock = new Object();
    private static int balance = 100;

    private final boolean deposits;

    private Bank(boolean deposits) {
        super(deposits ? "deposit" : "withdraw");
        this.deposits = deposits;
    }

    @Override
    public void run() {
        if (deposits) {
            balance = balance + 10;
        } else {
            synchronized (lock) {
                balance = balance - 20;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Bank deposit = new Bank(true);
        Bank withdraw = new Bank(false);
        deposit.start();
        withdraw.start();
        deposit.join();
        withdraw.join();
        System.out.println("balance is " + balance);
        if (balance != 90) {
            throw new AssertionError("money was lost: " + balance);
        }
    }
}
