// run: sums grid=1 a=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] b={u64:100,u64:200,u64:300,u64:400,u64:500,u64:600,u64:700,u64:800,u64:900,u64:1000,u64:1100,u64:1200,u64:1300,u64:1400,u64:1500,u64:1600,u32:7,u32:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0,u64:0} c=5 d=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2] out=[0;16] -> out=[107,208,309,410,511,612,713,814,915,1016,1117,1218,1319,1420,1521,1623]
// Vectors of sixteen longs are aligned to 128 bytes, also where values lie one behind the other.
typedef struct { ulong16 many; uint one; } Wide;

__kernel void sums(ulong16 a, Wide b, char c, ulong16 d, __global ulong16* out)
{
    out[0] = a + b.many + (ulong16)(b.one + c) + d - (ulong16)(7);
}
