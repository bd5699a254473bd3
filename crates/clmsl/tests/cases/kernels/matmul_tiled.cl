// run: matmul grid=8,8 group=4,4 M=8 N=8 K=8 A=[0,0,0,3,4,2,0,2,4,-3,-4,1,-4,-1,-2,1,3,3,-3,-1,-4,0,4,-4,3,-3,0,0,-3,-4,3,2,2,3,4,-2,4,1,-3,0,1,1,0,0,2,3,0,-4,-1,-3,3,-1,3,1,4,-2,4,-4,4,-2,-3,-3,3,0] B=[2,-4,-1,-1,1,-1,0,0,0,-4,3,1,-1,4,3,4,1,1,-1,0,-1,4,-4,1,3,-1,-1,1,-2,-3,1,4,2,1,1,0,-4,-4,0,4,-1,-2,4,2,-1,2,-3,1,1,-2,-1,4,3,-4,3,-2,1,-3,1,-3,-4,-2,3,-3] C=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> C=[-21,14,23,1,33,10,-2,6,11,-6,28,-16,2,2,50,-36,11,3,-13,9,-7,5,-16,-1,4,-31,18,4,-6,-19,23,21,11,-32,-7,6,-36,-25,26,17,17,16,-13,-6,-30,-9,20,-18,-8,-5,24,-3,23,-12,9,22,-43,10,-10,10,19,19,16,-9]
#define TS 4

__kernel void matmul(const int M, const int N, const int K,
                     const __global float* A, const __global float* B, __global float* C)
{
    const int row = get_local_id(0);
    const int col = get_local_id(1);
    const int globalRow = TS * get_group_id(0) + row;
    const int globalCol = TS * get_group_id(1) + col;

    __local float Asub[TS][TS];
    __local float Bsub[TS][TS];

    float acc = 0.0f;
    const int numTiles = K / TS;
    for (int t = 0; t < numTiles; t++) {
        const int tiledRow = TS * t + row;
        const int tiledCol = TS * t + col;
        Asub[col][row] = A[tiledCol * M + globalRow];
        Bsub[col][row] = B[globalCol * K + tiledRow];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TS; k++) {
            acc += Asub[k][row] * Bsub[col][k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[globalCol * M + globalRow] = acc;
}
