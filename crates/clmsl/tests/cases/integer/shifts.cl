// run: shift grid=6 a=[1,-8,123456789,-1,5,5] n=[4,1,31,32,33,-1] left=[0,0,0,0,0,0] right=[0,0,0,0,0,0] logical=[0,0,0,0,0,0] wide=[0,0,0,0,0,0] -> left=[32,-32,0,-2,20,0] right=[0,-4,0,-1,2,0] logical=[0,2147483644,0,4294967295,2,0] wide=[8,-8,132560717806043136,-2147483648,21474836480,-4611686018427387904]
// run: narrow grid=1 c=[0,200,255,3,2] v=[1,1,3,9,0,0,0,0] -> c=[64,200,127,12,2] v=[2,2,32768,9,0,0,8192,2]
__kernel void shift(__global const int* a, __global const int* n, __global int* left, __global int* right,
                    __global uint* logical, __global long* wide)
{
    int i = get_global_id(0);
    left[i] = a[i] << n[i];
    right[i] = a[i] >> n[i];
    logical[i] = (uint)a[i] >> n[i];
    wide[i] = (long)a[i] << n[i];
    wide[i] >>= 1;
    left[i] <<= 33;
}

__kernel void narrow(__global uchar* c, __global ushort4* v)
{
    c[0] = c[1] << 3;
    c[2] >>= 1;
    c[3] <<= c[4];
    v[0] <<= (ushort4)(1, 17, 15, 0);
    v[1] = v[0] >> 2;
}
