// options: -cl-std=CL2.0
// Expected values: C99 §7.19.6.1.
__constant char title[] = "title";

void show(const char* name, int value) { printf("%s=%d\n", name, value); }

void fields(__constant char* name) { printf("[%8s|%-8s|%.2s|%5.1s]\n", name, name, name, name); }

__kernel void memory(__global const char* global_text, __local char* local_text, int i) {
    char own[] = "own";
    const char* names[2] = {"first", "second"};
    local_text[0] = 'L';
    local_text[1] = 0;
    show(global_text, 1);
    show(local_text, 2);
    show(own, 3);
    show(title, 4);
    show(title + 2, 5);
    show("literal", 6);
    show(i ? "yes" : "no", 7);
    for (int k = 0; k < 2; k++) show(names[k], k);
    fields("abc");
    fields("");
}

// Without a zero, and bytes that are no text in UTF-8.
__kernel void bytes(__global const uchar* some) { printf("%.4s|%.3s|%s|%d\n", some, "abcdef", "\x41\xc3\xbc", 9); }
// run: memory grid=1 global_text=[71,108,111,0,65] local_text=local:16 i=1 -> prints="Glo=1\nL=2\nown=3\ntitle=4\ntle=5\nliteral=6\nyes=7\nfirst=0\nsecond=1\n[\_\_\_\_\_abc|abc\_\_\_\_\_|ab|\_\_\_\_a]\n[\_\_\_\_\_\_\_\_|\_\_\_\_\_\_\_\_||\_\_\_\_\_]\n"
// run: memory grid=1 global_text=[0] local_text=local:16 i=0 -> prints="=1\nL=2\nown=3\ntitle=4\ntle=5\nliteral=6\nno=7\nfirst=0\nsecond=1\n[\_\_\_\_\_abc|abc\_\_\_\_\_|ab|\_\_\_\_a]\n[\_\_\_\_\_\_\_\_|\_\_\_\_\_\_\_\_||\_\_\_\_\_]\n"
// run: bytes grid=1 some=[72,97,108,108] -> prints="Hall|abc|Aü|9\n"
// run: bytes grid=1 some=[72,0,108,108] -> prints="H|abc|Aü|9\n"
