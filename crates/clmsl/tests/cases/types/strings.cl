typedef struct { char name[4]; int value; } Entry;

__constant char title[] = "title";
__constant char table[2][4] = {"ab", {"cde"}};
__constant Entry entries[] = {{"one", 1}, {"two!", 2}};

int length(const char* s) {
    int n = 0;
    while (s[n]) n++;
    return n;
}

__kernel void k(__global int* out) {
    char own[8] = "a\n\x7f?";
    uchar bytes[] = "\xff";
    __constant char* text = "some text";
    const char* same = "some text";
    out[0] = length(title) * 1000 + length(text) * 100 + length(same) * 10 + length(own);
    out[1] = table[0][1] * 1000 + table[1][2];
    out[2] = entries[1].name[3] * 1000 + entries[1].value;
    out[3] = sizeof("abc") * 1000 + sizeof(title) * 100 + sizeof(bytes);
    out[4] = bytes[0] * 1000 + own[2];
    out[5] = "xyz"[2] + own[7];
    out[6] = title[5] + table[0][3];
}
// run: k grid=1 out=[0;7] -> out=[5994,98101,33002,4602,255127,122,0]
