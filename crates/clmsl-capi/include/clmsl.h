/* clmsl: OpenCL C to the Metal Shading Language, for C and every language that calls C.
 *
 *     clmsl_options *options;
 *     char message[256];
 *     if (clmsl_options_create("-cl-std=CL2.0 -DN=4", &options, message, sizeof message) != CLMSL_OK) ...
 *     clmsl_translation *translation;
 *     if (clmsl_translate("blur.cl", source, strlen(source), options, &translation) != CLMSL_OK) ...
 *     const char *msl = clmsl_translation_msl(translation, NULL);   // NULL: rejected, see the diagnostics
 *     ...
 *     clmsl_translation_release(translation);
 *     clmsl_options_release(options);
 *
 * Ownership: `create` and `translate` give an object that the caller releases once; strings that a function returns belong
 * to the object they were asked of and live as long. All strings are UTF-8 and end with a NUL; where a length is returned
 * too, it does not count that NUL.
 * Threads: any function may be called on any thread. A translation never changes, so several threads may read one. Options
 * must not be changed while another thread uses them.
 * A function that gets a null object where one is needed answers CLMSL_INVALID_ARGUMENT, null or zero; release ignores it.
 */
#ifndef CLMSL_H
#define CLMSL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before each function of the library. */
#if defined(__GNUC__)
#define CLMSL_API __attribute__((visibility("default")))
#else
#define CLMSL_API
#endif

/* Version of this interface; a library of another version has another file name. */
#define CLMSL_ABI_VERSION 1u

typedef struct clmsl_options clmsl_options;
typedef struct clmsl_translation clmsl_translation;

typedef enum clmsl_status {
    CLMSL_OK = 0,
    /* A null pointer where one is needed, or an index that is too large. */
    CLMSL_INVALID_ARGUMENT = 1,
    /* A string is not UTF-8. */
    CLMSL_NOT_UTF8 = 2,
    /* A build option that OpenCL does not have or that lacks its argument. */
    CLMSL_BAD_OPTION = 3,
    /* The translator failed in itself, which is a defect to report. */
    CLMSL_INTERNAL = 4
} clmsl_status;

/* The version of the library that is loaded: compare it with CLMSL_ABI_VERSION. */
CLMSL_API uint32_t clmsl_abi_version(void);

/* ---- options ---- */

/* Reads options as clBuildProgram takes them (OpenCL 3.0 API 5.8.6), such as "-cl-std=CL2.0 -D N=4 -I include".
 * NULL and "" are the defaults: OpenCL C 1.2, no macros. On CLMSL_BAD_OPTION what is wrong is written to `message`, cut to
 * `capacity` bytes with its NUL; `message` may be NULL. `*options` is NULL after a failure. */
CLMSL_API clmsl_status clmsl_options_create(const char *build_options, clmsl_options **options, char *message,
                                            size_t capacity);
CLMSL_API void clmsl_options_release(clmsl_options *options);

/* Defines a macro before the first line: `name` may have parameters, "F(x)"; a null `value` means 1. */
CLMSL_API clmsl_status clmsl_options_define(clmsl_options *options, const char *name, const char *value);

/* A file that an #include names. Both texts must stay valid until the callback is called again or clmsl_translate returns. */
typedef struct clmsl_included {
    /* Name to show in messages; NULL for the path as it was written. */
    const char *name;
    const char *text;
    size_t length;
} clmsl_included;

/* Finds `path` as an #include in the file `from` writes it; `angled` is 1 for <path>, 0 for "path". Returns 1 when it filled
 * `found`, 0 when there is no such file; a text that is not UTF-8 counts as none. Called on the thread of clmsl_translate;
 * it must not unwind or longjmp. */
typedef int (*clmsl_include)(void *user, const char *path, int angled, const char *from, clmsl_included *found);

/* How included files are found. With neither call every #include is an error: the translator reads no files by itself.
 * The later of the two calls counts. */
CLMSL_API clmsl_status clmsl_options_set_include(clmsl_options *options, clmsl_include include, void *user);
/* From the file system: beside the including file (for "path"), then in the folders that -I named, in order. The first file
 * of that name counts; one that cannot be read or is not UTF-8 is an error of the #include, as one that does not exist. */
CLMSL_API clmsl_status clmsl_options_read_files(clmsl_options *options);

/* ---- translation ---- */

/* Translates `length` bytes at `source`, called `name` in messages and #line directives. `options` may be NULL. A program
 * that is rejected is CLMSL_OK too: it has no text and at least one error among its diagnostics. `*translation` is NULL
 * after a failure. */
CLMSL_API clmsl_status clmsl_translate(const char *name, const char *source, size_t length, const clmsl_options *options,
                                       clmsl_translation **translation);
CLMSL_API void clmsl_translation_release(clmsl_translation *translation);

/* The Metal Shading Language text, or NULL if the program was rejected. `length` may be NULL. */
CLMSL_API const char *clmsl_translation_msl(const clmsl_translation *translation, size_t *length);

/* What a launch needs to know of each kernel, as JSON (docs/REFLECTION.md); a rejected program has no kernels. */
CLMSL_API const char *clmsl_translation_reflection(const clmsl_translation *translation, size_t *length);

typedef enum clmsl_severity { CLMSL_ERROR = 0, CLMSL_WARNING = 1 } clmsl_severity;

typedef struct clmsl_diagnostic {
    uint32_t severity; /* a clmsl_severity */
    uint32_t line;     /* from 1 */
    uint32_t column;   /* from 1, in bytes */
    uint32_t reserved; /* 0 */
    const char *file;
    const char *message;  /* one sentence */
    const char *rendered; /* with the source line, a caret and notes, as a compiler prints it */
} clmsl_diagnostic;

CLMSL_API size_t clmsl_translation_diagnostic_count(const clmsl_translation *translation);
/* Fills `diagnostic` with the one at `index`, in the order in which they were found. */
CLMSL_API clmsl_status clmsl_translation_diagnostic(const clmsl_translation *translation, size_t index,
                                                    clmsl_diagnostic *diagnostic);

#ifdef __cplusplus
}
#endif

#endif
