// GNUstep's first string, without what glibc loads and unloads for it.
//
// Its table of encodings asks iconv of 36 of them whether it converts to them with loss, and keeps the answers: 36 libraries, two thirds of the time that a new
// process took to its device (docs/PERFORMANCE.md). glibc's iconv does so for all encodings that it has, and a conversion opens its own, so while that table
// is made GNUstep's import of iconv_open is a function that says yes to these questions. In a program that used Foundation before, the table is made already.
#import "pool.h"

#include <elf.h>
#include <iconv.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace {
using Open = iconv_t (*)(const char *to, const char *from);

thread_local bool making;

// What opens and closes like a conversion and needs no library.
iconv_t open(const char *to, const char *from) {
  const char lossy[] = "//TRANSLIT";
  const size_t length = strlen(to), end = sizeof lossy - 1;
  if (making && length > end && !strcmp(to + length - end, lossy)) return iconv_open("UTF-8", "UTF-8");
  return iconv_open(to, from);
}

ElfW(Addr) page_size() {
  return (ElfW(Addr))sysconf(_SC_PAGESIZE);
}

struct Import {
  Open *place = nullptr;
  // Its page, where the loader has made that read-only: only whole pages are.
  void *fixed = nullptr;
};

int find(dl_phdr_info *info, size_t, void *found) {
  if (!strstr(info->dlpi_name, "/libgnustep-base.so")) return 0;
  const ElfW(Addr) base = info->dlpi_addr;
  const ElfW(Dyn) *entry = nullptr;
  const ElfW(Phdr) *fixed = nullptr;
  for (const ElfW(Phdr) *part = info->dlpi_phdr; part != info->dlpi_phdr + info->dlpi_phnum; part++) {
    if (part->p_type == PT_DYNAMIC) entry = (const ElfW(Dyn) *)(base + part->p_vaddr);
    if (part->p_type == PT_GNU_RELRO) fixed = part;
  }
  const ElfW(Sym) *symbols = nullptr;
  const char *names = nullptr;
  const ElfW(Rela) *imports = nullptr;
  size_t size = 0;
  for (; entry && entry->d_tag != DT_NULL; entry++) {
    // glibc makes addresses of what the file has as distances, where it may write them.
    const ElfW(Addr) value = entry->d_un.d_ptr, address = value < base ? base + value : value;
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)address;
    if (entry->d_tag == DT_STRTAB) names = (const char *)address;
    if (entry->d_tag == DT_JMPREL) imports = (const ElfW(Rela) *)address;
    if (entry->d_tag == DT_PLTRELSZ) size = value;
  }
  if (!symbols || !names || !imports) return 1;
  for (const ElfW(Rela) *import = imports; import != imports + size / sizeof *import; import++) {
    if (strcmp(names + symbols[ELF64_R_SYM(import->r_info)].st_name, "iconv_open")) continue;
    const ElfW(Addr) place = base + import->r_offset, page = place - place % page_size();
    const bool isFixed = fixed && import->r_offset >= fixed->p_vaddr && page + page_size() <= base + fixed->p_vaddr + fixed->p_memsz;
    *(Import *)found = {(Open *)place, isFixed ? (void *)page : nullptr};
    break;
  }
  return 1;
}

bool protect(const Import &import, int protection) {
  return !import.fixed || !mprotect(import.fixed, page_size(), protection);
}

// While it is there, GNUstep calls `open` where it would call iconv_open; unless another copy of hostmetal is at it.
class Instead {
 public:
  Instead() {
    dl_iterate_phdr(find, &import_);
    if (!import_.place) return;
    before_ = __atomic_load_n(import_.place, __ATOMIC_ACQUIRE);
    if (before_ != iconv_open || !protect(import_, PROT_READ | PROT_WRITE)) return;
    put_ = making = replace(before_, open);
  }
  Instead(const Instead &) = delete;
  Instead &operator=(const Instead &) = delete;
  ~Instead() {
    if (!put_) return;
    making = false;
    replace(open, before_);
    protect(import_, PROT_READ);
  }

 private:
  bool replace(Open from, Open to) {
    return __atomic_compare_exchange_n(import_.place, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
  }

  Import import_;
  Open before_ = nullptr;
  bool put_ = false;
};
}  // namespace

void hostmetal::make_strings() {
  // Nobody waits here for the first: who needs strings waits in the runtime.
  static std::atomic_flag begun = ATOMIC_FLAG_INIT;
  if (begun.test_and_set()) return;
  const Instead instead;
  [NSString class];
}
