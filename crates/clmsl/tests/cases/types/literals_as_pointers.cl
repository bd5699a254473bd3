int length(__constant char* s) {
    int n = 0;
    while (*s++) n++;
    return n;
}

__kernel void values(__global int* out, int i) {
    __constant char* chosen = i ? "long enough" : "short";
    __constant char* none = NULL;
    __constant char* same = chosen;
    __constant char* names[2] = {"first", "second"};
    out[0] = chosen == same;
    out[1] = (none == NULL) + 2 * (chosen != NULL) + 4 * !none;
    out[2] = (i ? "abc" : "d")[0];
    out[3] = *"q" + "xyz"[1];
    none = i ? "z" : NULL;
    out[4] = i ? none[0] : -1;
    out[5] = "a" "b"[0] == 'a';
    out[6] = names[i][0] + length(names[1]) + length("") + length(i ? "abc" : "abcd");
}
// run: values grid=1 out=[0;7] i=1 -> out=[1,7,97,234,122,1,124]
// run: values grid=1 out=[0;7] i=0 -> out=[1,7,100,234,-1,1,112]
