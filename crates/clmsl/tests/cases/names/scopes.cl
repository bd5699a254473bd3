// run: scopes grid=1 out=[0,0,0,0] n=7 -> out=[21,100,10,5]
struct item { int item; };
int value(int item) { return item; }

__kernel void scopes(__global int* out, int n)
{
    struct item item = { n };
    int value_1 = 1;
    {
        int n = item.item + 1;
        int out_ = n;
        { int n = 5; out_ += n; }
        out[0] = n + out_;
    }
    for (int n = 0; n < 1; n++) { int n = 100; out[1] = n; }
    int total = 0;
    { int total = 1; total++; value_1 += total; }
    out[2] = total + value_1 + value(n);
    struct item2 { float item; } other = { 2.5f };
    out[3] = other.item * 2;
}
