// run: bitonic grid=4 array=[81,91,29,4,17,3,43,2] stage=1 pass=0 ascending=1 -> array=[29,4,81,91,43,3,17,2]
// run: bitonic grid=4 array=[81,91,29,4,17,3,43,2] stage=2 pass=1 ascending=0 -> array=[81,91,29,4,43,3,17,2]
__kernel void bitonic(__global uint* array, const uint stage, const uint pass, const uint ascending)
{
    uint order = ascending;
    const uint id = get_global_id(0);
    const uint distance = 1 << (stage - pass);
    const uint block = 2 * distance;
    const uint left = (id % distance) + (id / distance) * block;
    const uint right = left + distance;
    const uint a = array[left], b = array[right];
    if ((id / (1 << stage)) % 2 == 1)
        order = 1 - order;
    const uint lesser = a > b ? b : a, greater = a > b ? a : b;
    array[left] = order ? lesser : greater;
    array[right] = order ? greater : lesser;
}
