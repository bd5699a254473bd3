// run: k grid=1 p={u8:9,i8:1,u8:0,u16:0,i32:2,i8:3,u8:0,u16:0,i32:4,i32:5,i32:6,i32:7,i32:8,i32:9,i32:10,i32:11,i32:12,u16:13} words={u32:1,u32:2,u32:3,u32:4} out=[0;10] -> p={u8:9,i8:1,u8:0,u16:0,i32:102,i8:3,u8:0,u16:0,i32:204,i32:9,i32:10,i32:11,i32:12,i32:12,i32:11,i32:10,i32:34,u16:14} words={u32:1,u32:2,u32:3,u32:29} out=[8,51,20,2,102,204,34,3,2,31]
// What is not packed itself, and has gaps, lies unaligned in what is; so does what a pointer to bytes is cast to.
typedef struct { char c; int n; } Gap;
typedef struct __attribute__((packed)) { uchar first; Gap gaps[2]; int8 wide; ushort last; } Outer;
typedef struct __attribute__((packed)) { uint a; uint b; } Words;
typedef struct { uint x; Words words; } Plain;

int sum(__global const Gap* gap) { return gap->c + gap->n; }

__kernel void k(__global Outer* p, __global uint* words, __global int* out)
{
    size_t i = get_global_id(0);
    p += i; words += 4 * i; out += 10 * i;
    Gap own = p->gaps[0];
    out[0] = sizeof(Gap); out[1] = sizeof(Outer);
    own.n = 100;
    p->gaps[0].n += own.n;
    p->gaps[1].n += 2 * own.n;
    p->wide.lo = p->wide.hi;
    p->wide.s7654 = p->wide.lo;
    p->wide.s7 += p->wide.odd.y + p->wide.even.z + own.c;
    p->last++;
    out[2] = sizeof(Plain) + sizeof(Words);
    out[3] = (int)((__global uchar*)&p->gaps[1] - (__global uchar*)&p->gaps[0]) / 4;
    out[4] = sum(&p->gaps[0]) - own.c;
    out[5] = sum(p->gaps + 1) - p->gaps[1].c;
    out[6] = p->wide.s7;
    __global Words* two = (__global Words*)((__global uchar*)words + 4);
    out[7] = two->b;
    Plain plain = { 1, *two };
    out[8] = plain.words.a;
    two = (__global Words*)((__global uchar*)words + 8);
    two->b += 25;
    out[9] = two->b + plain.words.a;
}
