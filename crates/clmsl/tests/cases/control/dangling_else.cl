// run: k grid=6 a=[0,1,2,3,4,5] -> a=[100,211,2,340,454,5]
__kernel void k(__global int* a)
{
    int i = get_global_id(0), x = a[i];
    if (x == 0) { if (x) x = 7; } else if (x < 3) { if (x == 1) x = 211; } else { if (x == 3) x = 340; }
    if (i == 0) {
        if (x == 1)
            x = 8;
    } else
        if (i == 4) x = 444;
    if (i == 0)
        for (int j = 0; j < 10; j++)
            if (x < 100)
                x += 10;
    if (i == 4)
        while (x < 454)
            x++;
    else if (i == 5)
        for (int j = 0; j < 3; j++)
        { if (j == 4) x = 9; }
    else
        x += 0;
    a[i] = x;
}
