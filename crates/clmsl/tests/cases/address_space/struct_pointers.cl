// run: chains grid=1 nodes={f32:1,i32:2,f32:2,i32:-1,f32:4,i32:1} out=[0,0] -> nodes={f32:1,i32:2,f32:8,i32:0,f32:8,i32:2} out=[7,4]
typedef struct Node { float value; int next; } Node;
typedef struct { __global const Node* nodes; int count; } List;

float walk(const List* list, int start)
{
    float total = 0.0f;
    for (int i = start, guard = 0; i >= 0 && guard < list->count; i = list->nodes[i].next, guard++)
        total += list->nodes[i].value;
    return total;
}

void scale(__global Node* n, float by) { n->value *= by; (*n).next++; }

__kernel void chains(__global Node* nodes, __global float* out)
{
    List list = { nodes, 3 };
    out[0] = walk(&list, 0);
    List copy = list;
    copy.count = 1;
    out[1] = walk(&copy, 2);
    scale(&nodes[1], 4.0f);
    scale(nodes + 2, 2.0f);
}
// differential: tame: the integers are indices
