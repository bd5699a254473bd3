__kernel void k(__global int* a) {
    switch (a[0]) {
    case 1: a[1] = 1; break;
    case 1: break;
    default: break;
    default: break;
    case a[2]: break;
    if (a[3]) { case 5: case 1: a[4] = 1; }
    case 0 ... 100000: break;
    case 9 ... 8: break;
    }
    case 7: break;
    break; continue;
}
