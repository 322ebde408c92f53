import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Loops whose turns could not run at the same time, for reasons that are easy to overlook. */
public class Traps {
    static int[] a=new int[100], b=a, c=new int[100], hist=new int[100];
    static int[][] rows=new int[10][10];
    static int counter, total, total2, tmp;
    static List<Integer> list=new ArrayList<>();
    static StringBuilder sb=new StringBuilder();
    static class N {
        N next;
        int v;
    }

    static N head;
    static N[] same=new N[10];
    static int n=100;
    int f;
    static int next() {
        return ++counter;
    }

    static void l1() {
        for(int i=0;i<100;i++) // turns: not
        a[i]=a[99-i]+1;
    }

    static void l2() {
        for(int i=0;i<99;i++) // turns: not
        {
            a[i]=i;
            b[i+1]=i;
        }
    }

    static void l3() {
        rows[1]=rows[0];
        for(int i=0;i<10;i++) // turns: not
        for(int j=0;j<10;j++) rows[i][j]=i;
    }

    static void l4() {
        N one=new N();
        for(int i=0;i<10;i++) same[i]=one;
        for(int i=0;i<10;i++) // turns: not
        same[i].v=i;
    }

    static void l5() {
        for(int i=0;i<100;i++) // turns: not
        a[i]=next();
    }

    static void l6(int s) {
        for(int i=0;i<100;i+=s) // turns: not
        a[i]=i;
    }

    static void l7() {
        for(int i=0;i<90;i++) // turns: not
        {
            a[i]=i;
            if(c[i]>0) i++;
        }
    }

    static void l8() {
        for(int x: list) // turns: not
        total+=x;
    }

    static void l9() {
        for(int i=0;i<100;i++) // turns: not
        a[i%10]=i;
    }

    static void l10() {
        for(int i=0;i<100;i++) // turns: not
        a[i/2]=i;
    }

    static void l11() {
        for(int i=0;i<100;i++) // turns: not
        sb.append(i);
    }

    static void l12() {
        for(int i=0;i<list.size();i++) // turns: not
        list.set(i,i);
    }

    static void l14() {
        for(int i=0;i<100;i++) // turns: not
        {
            total+=total2;
            total2+=1;
        }
    }

    static int l16() {
        int s=0;
        for(int i=0;i<100;i++) // turns: not
        s=c[i]-s;
        return s;
    }

    static int l17() {
        int m=0;
        for(int i=0;i<100;i++) // turns: not
        if(c[i]>m) m=c[i];
        return m;
    }

    static void l18() {
        for(int i=0;i<100;i++) // turns: not
        try {
            a[i]=1/c[i];
            total2=i;
        }
        catch(ArithmeticException e) {
        }
    }

    static void l19() {
        for(int i=0;i<9;i++) // turns: not
        rows[i]=rows[i+1];
    }

    static void l20() {
        for(int i=0;i<9;i++) // turns: not
        {
            N x=new N();
            x.next=head;
            head=x;
        }
    }

    static void l21() {
        for(int i=0;i<10;i++) // turns: not
        for(int j=0;j<100;j++) a[j]+=a[(j+1)%100]*i;
    }

    static void l23() {
        for(int i=0;i<100;i++) // turns: not
        {
            tmp=c[i];
            hist[i]=tmp*2;
        }
    }

    static void l24() {
        out: for(int i=0;i<10;i++) // turns: not
        for(int j=0;j<10;j++) if(c[i*j]==5) break out;
        else hist[i]++;
    }

    static void l25() {
        for(int i=0;i<n;i++) // turns: not
        if(c[i]==7) n=50;
        else hist[i]=1;
    }

    static void l26() {
        for(int i=0;i<100;i++) // turns: not
        {
            N x=head;
            x.v+=i;
            x.v*=2;
        }
    }

    static void l27() {
        int[] loc=new int[1];
        for(int i=0;i<100;i++) // turns: not
        {
            loc[0]=i;
            hist[i]=loc[0];
        }
        total+=loc[0];
    }

    static void l28() {
        for(int i=0;i<100;i++) // turns: not
        {
            total+=i;
            total*=2;
        }
    }

    static void l29() {
        double d=0;
        for(int i=0;i<100;i++) // turns: not
        {
            d=d+c[i]*0.1;
        }
        total+=(int)d;
    }

    static void l30() {
        N x=new N();
        for(int i=0;i<100;i++) // turns: not
        {
            x.v=i;
            hist[i]=x.v;
        }
    }

    static void l31() {
        for(int i=0;i<100;i++) // turns: not
        hist[c[i]&63]=i;
    }

    static void l32() {
        N cur=head;
        for(int i=0;i<5 && cur!=null;i++) // turns: not
        {
            cur.v=i;
            cur=cur.next;
        }
    }

    static void l33() {
        for(int i=0;i<50;i++) // turns: not
        System.arraycopy(a,i,a,i+1,2);
    }

    static void l34() {
        Integer[] box=new Integer[1];
        box[0]=0;
        for(int i=0;i<50;i++) // turns: not
        {
            box[0]=box[0]+c[i];
            hist[i]=box[0];
        }
    }

    static void l35() {
        for(int i=0;i<100;i++) // turns: not
        {
            a[i]=i;
            c[0]=a[0];
        }
    }

    static void w(int at,int v) {
        a[at]=v;
    }

    static void l36() {
        for(int i=0;i<99;i++) // turns: not
        {
            w(i,1);
            w(i+1,2);
        }
    }

    static void l37() {
        for(int i=99;i>0;i--) // turns: not
        a[i]=a[i-1];
    }

    static void l38() {
        Random r=new Random(5);
        for(int i=0;i<100;i++) // turns: not
        hist[i]=r.nextInt();
    }

    static boolean done;
    static void l39() {
        for(int i=0;i<100;i++) // turns: not
        if(!done) {
            hist[i]=1;
            if(c[i]==3) done=true;
        }
    }

    public static void main(String[] x) {
        l1();
        l2();
        l3();
        l4();
        l5();
        l6(x.length+1);
        l7();
        l8();
        l9();
        l10();
        l11();
        l12();
        l14();
        total+=l16()+l17();
        l18();
        l19();
        l20();
        l21();
        l23();
        l24();
        l25();
        l26();
        l27();
        l28();
        l29();
        l30();
        l31();
        l32();
        l33();
        l34();
        l35();
        l36();
        l37();
        l38();
        l39();
        System.out.println(total+total2+a[3]+hist[4]+sb.length()+rows[2][2]+head.v+same[1].v+c[1]+n);
    }
}
