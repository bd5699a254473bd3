// Kernels of dcmetal's own for nested launches (nested/mod.rs): what other kernels wrote is checked on the device before it becomes a dispatch.
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

// out: the threadgroups to run, 0 when there are too many; whether there are; the threadgroups that were asked for.
// (The host may look before the kernel is through; what it looks at first is written last.)
kernel void dcmetal_guard(device const uint *count [[buffer(0)]], device uint *out [[buffer(1)]],
                          constant uint3 &most [[buffer(2)]]) {
  bool fits = count[0] <= most[0] && count[1] <= most[1] && count[2] <= most[2];
  for (uint axis = 0; axis < 3; axis++) {
    out[axis] = fits ? count[axis] : 0;
    out[4 + axis] = count[axis];
  }
  atomic_store_explicit((device atomic_uint *)(out + 3), !fits, memory_order_relaxed);
}

struct Function {
  compute_pipeline_state state;
  uint arguments, most;     // threads of a threadgroup
  uint required[3], unused; // the size of a threadgroup, zeros for any
  uint slot[8], least[8], alignment[8];
  uint written, unused_too; // bit n: it may write argument n
};

struct Memory {
  device uchar *start;
  ulong bytes;
  uint writable, unused;
};

struct Head {
  command_buffer commands;
  uint capacity, functions, memories;
  uint most[3]; // threads of a threadgroup, by axis
};

// As `wrong` in nested/table.rs: 0, or the reason and, behind it, the argument's number.
static uint wrong(device const dcmetal_command &c, constant Head &head, constant Function *functions,
                  constant Memory *memories) {
  if (c.function >= head.functions) return 1u << 4;
  constant Function &f = functions[c.function];
  for (uint axis = 0; axis < 3; axis++)
    if (c.threads[axis] == 0 || c.threads[axis] > head.most[axis]) return 2u << 4;
  ulong threads = ulong(c.threads[0]) * c.threads[1] * c.threads[2];
  if (threads > f.most) return 3u << 4;
  for (uint axis = 0; axis < 3; axis++)
    if (f.required[0] != 0 && c.threads[axis] != f.required[axis]) return 4u << 4;
  for (uint axis = 0; axis < 3; axis++)
    if (ulong(c.threadgroups[axis]) * c.threads[axis] > 0xFFFFFFFFul) return 5u << 4;
  for (uint a = 0; a < f.arguments; a++) {
    uint number = c.arguments[a][0], offset = c.arguments[a][1];
    if (number >= head.memories) return 6u << 4 | a;
    constant Memory &m = memories[number];
    if ((ulong(m.start) + offset) % f.alignment[a] != 0) return 7u << 4 | a;
    if (ulong(offset) + f.least[a] > m.bytes) return 8u << 4 | a;
    if ((f.written >> a & 1) != 0 && m.writable == 0) return 9u << 4 | a;
  }
  return 0;
}

// A thread for each place of a command. told: the least of what is wrong, with the command's number, and the records that there are too many;
// range: what is to be executed.
kernel void dcmetal_encode(constant Head &head [[buffer(0)]], constant Function *functions [[buffer(1)]],
                           constant Memory *memories [[buffer(2)]], device const dcmetal_command *records [[buffer(3)]],
                           device const uint *count [[buffer(4)]], device atomic_uint *told [[buffer(5)]],
                           device uint *range [[buffer(6)]], uint i [[thread_position_in_grid]]) {
  uint n = count[0];
  bool fits = n <= head.capacity;
  if (i == 0) {
    range[0] = 0;
    range[1] = fits ? n : 0;
    if (!fits) atomic_store_explicit(told + 1, n, memory_order_relaxed);
  }
  if (!fits || i >= n) return;
  compute_command command(head.commands, i);
  command.reset();
  device const dcmetal_command &c = records[i];
  uint what = wrong(c, head, functions, memories);
  if (what != 0) {
    atomic_fetch_min_explicit(told, i << 8 | what, memory_order_relaxed);
    return;
  }
  if (c.threadgroups[0] == 0 || c.threadgroups[1] == 0 || c.threadgroups[2] == 0) return;
  constant Function &f = functions[c.function];
  compute_pipeline_state state = f.state;
  command.set_compute_pipeline_state(state);
  for (uint a = 0; a < f.arguments; a++) {
    device uchar *start = memories[c.arguments[a][0]].start;
    command.set_kernel_buffer(start + c.arguments[a][1], f.slot[a]);
  }
  if (c.barrier != 0) command.set_barrier();
  command.concurrent_dispatch_threadgroups(uint3(c.threadgroups[0], c.threadgroups[1], c.threadgroups[2]),
                                           uint3(c.threads[0], c.threads[1], c.threads[2]));
}
