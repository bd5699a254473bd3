/* A program that uses the translator alone. */
#include <clmsl.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    return 1;
}

static int header(void *user, const char *path, int angled, const char *from, clmsl_included *found) {
    if (angled || strcmp(path, "scale.h") != 0 || strcmp(from, "scale.cl") != 0) return 0;
    ++*(int *)user;
    found->text = "#define SCALE 3.0f\n";
    found->length = strlen(found->text);
    return 1;
}

int main(void) {
    const char *good = "#include \"scale.h\"\n__kernel void scale(__global float *x) { x[get_global_id(0)] *= SCALE * N; }\n";
    const char *bad = "__kernel void scale(__global float *x) { x[0] = missing; }\n";
    clmsl_options *options = NULL;
    clmsl_translation *translation = NULL;
    clmsl_diagnostic diagnostic;
    char message[128];
    int asked = 0;
    size_t length = 0;
    const char *msl;

    if (clmsl_abi_version() != CLMSL_ABI_VERSION) return fail("another version of the library");
    if (clmsl_options_create("-cl-nonsense", &options, message, sizeof message) != CLMSL_BAD_OPTION) return fail("nonsense accepted");
    if (strstr(message, "-cl-nonsense") == NULL || options != NULL) return fail("nonsense not named");
    if (clmsl_options_create("-cl-std=CL1.2", &options, message, sizeof message) != CLMSL_OK) return fail(message);
    if (clmsl_options_define(options, "N", "2") != CLMSL_OK) return fail("define");
    if (clmsl_options_set_include(options, header, &asked) != CLMSL_OK) return fail("include");

    if (clmsl_translate("scale.cl", good, strlen(good), options, &translation) != CLMSL_OK) return fail("translate");
    msl = clmsl_translation_msl(translation, &length);
    if (msl == NULL || strlen(msl) != length || strstr(msl, "3.0f") == NULL || asked != 1) return fail("no translation");
    if (strstr(clmsl_translation_reflection(translation, NULL), "\"name\":\"scale\"") == NULL) return fail("no reflection");
    clmsl_translation_release(translation);

    if (clmsl_translate("scale.cl", bad, strlen(bad), NULL, &translation) != CLMSL_OK) return fail("translate");
    if (clmsl_translation_msl(translation, NULL) != NULL) return fail("a bad program has a text");
    if (clmsl_translation_diagnostic(translation, 0, &diagnostic) != CLMSL_OK) return fail("no diagnostic");
    if (diagnostic.severity != CLMSL_ERROR || diagnostic.line != 1 || strstr(diagnostic.message, "missing") == NULL)
        return fail(diagnostic.rendered);
    printf("a kernel of 1 argument; a rejected program with %zu diagnostic\n",
           clmsl_translation_diagnostic_count(translation));
    clmsl_translation_release(translation);
    clmsl_options_release(options);
    return 0;
}
