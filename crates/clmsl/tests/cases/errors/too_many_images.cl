// Metal's limits: 128 textures, 8 of them written.
__kernel void written(write_only image2d_t w0, write_only image2d_t w1, write_only image2d_t w2, write_only image2d_t w3, write_only image2d_t w4, write_only image2d_t w5, write_only image2d_t w6, write_only image2d_t w7, write_only image2d_t w8) {
  write_imagef(w0, (int2)(0), (float4)(0));
  write_imagef(w1, (int2)(0), (float4)(0));
  write_imagef(w2, (int2)(0), (float4)(0));
  write_imagef(w3, (int2)(0), (float4)(0));
  write_imagef(w4, (int2)(0), (float4)(0));
  write_imagef(w5, (int2)(0), (float4)(0));
  write_imagef(w6, (int2)(0), (float4)(0));
  write_imagef(w7, (int2)(0), (float4)(0));
  write_imagef(w8, (int2)(0), (float4)(0));
}
__kernel void read(read_only image2d_t r0, read_only image2d_t r1, read_only image2d_t r2,
                   read_only image2d_t r3, read_only image2d_t r4, read_only image2d_t r5,
                   read_only image2d_t r6, read_only image2d_t r7, read_only image2d_t r8,
                   read_only image2d_t r9, read_only image2d_t r10, read_only image2d_t r11,
                   read_only image2d_t r12, read_only image2d_t r13, read_only image2d_t r14,
                   read_only image2d_t r15, read_only image2d_t r16, read_only image2d_t r17,
                   read_only image2d_t r18, read_only image2d_t r19, read_only image2d_t r20,
                   read_only image2d_t r21, read_only image2d_t r22, read_only image2d_t r23,
                   read_only image2d_t r24, read_only image2d_t r25, read_only image2d_t r26,
                   read_only image2d_t r27, read_only image2d_t r28, read_only image2d_t r29,
                   read_only image2d_t r30, read_only image2d_t r31, read_only image2d_t r32,
                   read_only image2d_t r33, read_only image2d_t r34, read_only image2d_t r35,
                   read_only image2d_t r36, read_only image2d_t r37, read_only image2d_t r38,
                   read_only image2d_t r39, read_only image2d_t r40, read_only image2d_t r41,
                   read_only image2d_t r42, read_only image2d_t r43, read_only image2d_t r44,
                   read_only image2d_t r45, read_only image2d_t r46, read_only image2d_t r47,
                   read_only image2d_t r48, read_only image2d_t r49, read_only image2d_t r50,
                   read_only image2d_t r51, read_only image2d_t r52, read_only image2d_t r53,
                   read_only image2d_t r54, read_only image2d_t r55, read_only image2d_t r56,
                   read_only image2d_t r57, read_only image2d_t r58, read_only image2d_t r59,
                   read_only image2d_t r60, read_only image2d_t r61, read_only image2d_t r62,
                   read_only image2d_t r63, read_only image2d_t r64, read_only image2d_t r65,
                   read_only image2d_t r66, read_only image2d_t r67, read_only image2d_t r68,
                   read_only image2d_t r69, read_only image2d_t r70, read_only image2d_t r71,
                   read_only image2d_t r72, read_only image2d_t r73, read_only image2d_t r74,
                   read_only image2d_t r75, read_only image2d_t r76, read_only image2d_t r77,
                   read_only image2d_t r78, read_only image2d_t r79, read_only image2d_t r80,
                   read_only image2d_t r81, read_only image2d_t r82, read_only image2d_t r83,
                   read_only image2d_t r84, read_only image2d_t r85, read_only image2d_t r86,
                   read_only image2d_t r87, read_only image2d_t r88, read_only image2d_t r89,
                   read_only image2d_t r90, read_only image2d_t r91, read_only image2d_t r92,
                   read_only image2d_t r93, read_only image2d_t r94, read_only image2d_t r95,
                   read_only image2d_t r96, read_only image2d_t r97, read_only image2d_t r98,
                   read_only image2d_t r99, read_only image2d_t r100, read_only image2d_t r101,
                   read_only image2d_t r102, read_only image2d_t r103, read_only image2d_t r104,
                   read_only image2d_t r105, read_only image2d_t r106, read_only image2d_t r107,
                   read_only image2d_t r108, read_only image2d_t r109, read_only image2d_t r110,
                   read_only image2d_t r111, read_only image2d_t r112, read_only image2d_t r113,
                   read_only image2d_t r114, read_only image2d_t r115, read_only image2d_t r116,
                   read_only image2d_t r117, read_only image2d_t r118, read_only image2d_t r119,
                   read_only image2d_t r120, read_only image2d_t r121, read_only image2d_t r122,
                   read_only image2d_t r123, read_only image2d_t r124, read_only image2d_t r125,
                   read_only image2d_t r126, read_only image2d_t r127, read_only image2d_t r128, __global int* n) {
  float4 sum = read_imagef(r0, (int2)(0)) + read_imagef(r1, (int2)(0)) + read_imagef(r2, (int2)(0)) + read_imagef(r3, (int2)(0)) +
    read_imagef(r4, (int2)(0)) + read_imagef(r5, (int2)(0)) + read_imagef(r6, (int2)(0)) + read_imagef(r7, (int2)(0)) +
    read_imagef(r8, (int2)(0)) + read_imagef(r9, (int2)(0)) + read_imagef(r10, (int2)(0)) + read_imagef(r11, (int2)(0)) +
    read_imagef(r12, (int2)(0)) + read_imagef(r13, (int2)(0)) + read_imagef(r14, (int2)(0)) + read_imagef(r15, (int2)(0)) +
    read_imagef(r16, (int2)(0)) + read_imagef(r17, (int2)(0)) + read_imagef(r18, (int2)(0)) + read_imagef(r19, (int2)(0)) +
    read_imagef(r20, (int2)(0)) + read_imagef(r21, (int2)(0)) + read_imagef(r22, (int2)(0)) + read_imagef(r23, (int2)(0)) +
    read_imagef(r24, (int2)(0)) + read_imagef(r25, (int2)(0)) + read_imagef(r26, (int2)(0)) + read_imagef(r27, (int2)(0)) +
    read_imagef(r28, (int2)(0)) + read_imagef(r29, (int2)(0)) + read_imagef(r30, (int2)(0)) + read_imagef(r31, (int2)(0)) +
    read_imagef(r32, (int2)(0)) + read_imagef(r33, (int2)(0)) + read_imagef(r34, (int2)(0)) + read_imagef(r35, (int2)(0)) +
    read_imagef(r36, (int2)(0)) + read_imagef(r37, (int2)(0)) + read_imagef(r38, (int2)(0)) + read_imagef(r39, (int2)(0)) +
    read_imagef(r40, (int2)(0)) + read_imagef(r41, (int2)(0)) + read_imagef(r42, (int2)(0)) + read_imagef(r43, (int2)(0)) +
    read_imagef(r44, (int2)(0)) + read_imagef(r45, (int2)(0)) + read_imagef(r46, (int2)(0)) + read_imagef(r47, (int2)(0)) +
    read_imagef(r48, (int2)(0)) + read_imagef(r49, (int2)(0)) + read_imagef(r50, (int2)(0)) + read_imagef(r51, (int2)(0)) +
    read_imagef(r52, (int2)(0)) + read_imagef(r53, (int2)(0)) + read_imagef(r54, (int2)(0)) + read_imagef(r55, (int2)(0)) +
    read_imagef(r56, (int2)(0)) + read_imagef(r57, (int2)(0)) + read_imagef(r58, (int2)(0)) + read_imagef(r59, (int2)(0)) +
    read_imagef(r60, (int2)(0)) + read_imagef(r61, (int2)(0)) + read_imagef(r62, (int2)(0)) + read_imagef(r63, (int2)(0)) +
    read_imagef(r64, (int2)(0)) + read_imagef(r65, (int2)(0)) + read_imagef(r66, (int2)(0)) + read_imagef(r67, (int2)(0)) +
    read_imagef(r68, (int2)(0)) + read_imagef(r69, (int2)(0)) + read_imagef(r70, (int2)(0)) + read_imagef(r71, (int2)(0)) +
    read_imagef(r72, (int2)(0)) + read_imagef(r73, (int2)(0)) + read_imagef(r74, (int2)(0)) + read_imagef(r75, (int2)(0)) +
    read_imagef(r76, (int2)(0)) + read_imagef(r77, (int2)(0)) + read_imagef(r78, (int2)(0)) + read_imagef(r79, (int2)(0)) +
    read_imagef(r80, (int2)(0)) + read_imagef(r81, (int2)(0)) + read_imagef(r82, (int2)(0)) + read_imagef(r83, (int2)(0)) +
    read_imagef(r84, (int2)(0)) + read_imagef(r85, (int2)(0)) + read_imagef(r86, (int2)(0)) + read_imagef(r87, (int2)(0)) +
    read_imagef(r88, (int2)(0)) + read_imagef(r89, (int2)(0)) + read_imagef(r90, (int2)(0)) + read_imagef(r91, (int2)(0)) +
    read_imagef(r92, (int2)(0)) + read_imagef(r93, (int2)(0)) + read_imagef(r94, (int2)(0)) + read_imagef(r95, (int2)(0)) +
    read_imagef(r96, (int2)(0)) + read_imagef(r97, (int2)(0)) + read_imagef(r98, (int2)(0)) + read_imagef(r99, (int2)(0)) +
    read_imagef(r100, (int2)(0)) + read_imagef(r101, (int2)(0)) + read_imagef(r102, (int2)(0)) + read_imagef(r103, (int2)(0)) +
    read_imagef(r104, (int2)(0)) + read_imagef(r105, (int2)(0)) + read_imagef(r106, (int2)(0)) + read_imagef(r107, (int2)(0)) +
    read_imagef(r108, (int2)(0)) + read_imagef(r109, (int2)(0)) + read_imagef(r110, (int2)(0)) + read_imagef(r111, (int2)(0)) +
    read_imagef(r112, (int2)(0)) + read_imagef(r113, (int2)(0)) + read_imagef(r114, (int2)(0)) + read_imagef(r115, (int2)(0)) +
    read_imagef(r116, (int2)(0)) + read_imagef(r117, (int2)(0)) + read_imagef(r118, (int2)(0)) + read_imagef(r119, (int2)(0)) +
    read_imagef(r120, (int2)(0)) + read_imagef(r121, (int2)(0)) + read_imagef(r122, (int2)(0)) + read_imagef(r123, (int2)(0)) +
    read_imagef(r124, (int2)(0)) + read_imagef(r125, (int2)(0)) + read_imagef(r126, (int2)(0)) + read_imagef(r127, (int2)(0)) +
    read_imagef(r128, (int2)(0));
  n[0] = sum.x;
}
__kernel void measured(write_only image2d_t w0, write_only image2d_t w1, write_only image2d_t w2, __global int* n) {
  n[0] = get_image_width(w0) + get_image_width(w1) + get_image_width(w2);
}
