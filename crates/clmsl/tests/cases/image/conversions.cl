// differential: tame: what a float without a number becomes in an image is undefined
// run: store grid=2 out=rgba8unorm:2x1:[0;8] colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] -> out=[0,0,26,128,252,255,255,51]
// run: load grid=2 in=rgba8unorm:2x1:[0,0,26,128,252,255,255,51] colours=[0;8] -> colours=[0,0,0.101960786,0.5019608,0.9882353,1,1,0.2]
// run: store grid=2 out=rgba8snorm:2x1:[0;8] colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] -> out=[-64,0,13,64,126,127,127,25]
// run: load grid=2 in=rgba8snorm:2x1:[-64,0,13,64,126,127,127,25] colours=[0;8] -> colours=[-0.503937,0,0.10236221,0.503937,0.992126,1,1,0.19685039]
// run: store grid=2 out=rgba16unorm:2x1:[0;8] colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] -> out=[0,0,6554,32768,64880,65535,65535,13107]
// run: load grid=2 in=rgba16unorm:2x1:[0,0,6554,32768,64880,65535,65535,13107] colours=[0;8] -> colours=[0,0,0.10000763,0.5000076,0.9900053,1,1,0.2]
// run: store grid=2 out=rgba16float:2x1:[0;8] colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] -> out=[-0.5,0,0.099975586,0.5,0.9902344,1,1.7001953,0.19995117]
// run: load grid=2 in=rgba16float:2x1:[-0.5,0,0.099975586,0.5,0.9902344,1,1.7001953,0.19995117] colours=[0;8] -> colours=[-0.5,0,0.099975586,0.5,0.9902344,1,1.7001953,0.19995117]
// run: store grid=2 out=rgba32float:2x1:[0;8] colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] -> out=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2]
// run: load grid=2 in=rgba32float:2x1:[-0.5,0,0.1,0.5,0.99,1,1.7,0.2] colours=[0;8] -> colours=[-0.5,0,0.1,0.5,0.99,1,1.7,0.2]
// run: load grid=1 in=bgra8unorm:1x1:[51,102,255,204] colours=[0;4] -> colours=[1,0.4,0.2,0.8]
// run: store_counts grid=1 out=rgba8uint:1x1:[0;4] n=[1,300,4000000000,255] -> out=[1,255,255,255]
// run: store_counts grid=1 out=rgba16uint:1x1:[0;4] n=[70000,3,9,9] -> out=[65535,3,9,9]
// run: store_differences grid=1 out=rgba8sint:1x1:[0;4] n=[-300,300,-128,5] -> out=[-128,127,-128,5]
kernel void store(write_only image2d_t out, global const float4* colours) {
  int i = get_global_id(0);
  write_imagef(out, (int2)(i, 0), colours[i]);
}

kernel void load(read_only image2d_t in, global float4* colours) {
  int i = get_global_id(0);
  colours[i] = read_imagef(in, (int2)(i, 0));
}

kernel void store_counts(write_only image2d_t out, global const uint4* n) { write_imageui(out, (int2)(0, 0), n[0]); }

kernel void store_differences(write_only image2d_t out, global const int4* n) { write_imagei(out, (int2)(0, 0), n[0]); }
